"""A learned factor for each feature of a branch."""

import keras

from keras_attn.base.layer import Layer


@keras.saving.register_keras_serializable(package="keras_attn")
class LayerScale(Layer):
    """Multiplies each feature by a factor that starts near 0.

        output = scale · x        scale(f) = initial at first

    On the branches of a deep network it lets each block start as the identity.

    Args:
        initial: What the factors start from.

    Call arguments:
        inputs: (batch, length, features).

    Returns:
        (batch, length, features).

    Reference:
        Touvron et al. 2021, equation 5. https://arxiv.org/abs/2103.17239
    """

    def __init__(self, initial: float = 1e-5, **kwargs):
        super().__init__(**kwargs)
        self.initial = initial
        self.supports_masking = True

    def build(self, input_shape):
        self.scale = self.add_weight(
            name="scale",
            shape=(input_shape[-1],),
            initializer=keras.initializers.Constant(self.initial),
        )

    def call(self, inputs):
        return inputs * self.scale

    def get_config(self):
        return {**super().get_config(), "initial": self.initial}
