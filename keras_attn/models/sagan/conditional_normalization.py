"""Batch normalisation with a scale and an offset for each class."""

import keras

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer

EPSILON = 1e-5


@keras.saving.register_keras_serializable(package="keras_attn")
class ConditionalNormalization(Layer):
    """Batch normalisation, scaled and moved as each image's class has learnt.

        output = γ(class) (x - mean) / √(variance + ε) + β(class)

    Mean and variance are those of the batch while training, and else their
    moving averages.

    Args:
        num_classes: How many scales and offsets there are.
        momentum: Of the moving averages.

    Call arguments:
        inputs: (batch, height, width, channels).
        classes: (batch,) integers.
        training: Whether the batch's own mean and variance count.

    Returns:
        (batch, height, width, channels).

    Reference:
        Dumoulin et al. 2017, section 2.2. https://arxiv.org/abs/1610.07629
    """

    def __init__(self, num_classes: int, *, momentum: float = 0.99, **kwargs):
        super().__init__(**kwargs)
        self.num_classes = argument_checks.integer(
            num_classes, "num_classes", at_least=1
        )
        argument_checks.rate(momentum, "momentum")
        self.momentum = momentum
        self.normalization = keras.layers.BatchNormalization(
            momentum=momentum,
            epsilon=EPSILON,
            center=False,
            scale=False,
            name="normalization",
            dtype=self.dtype_policy,
        )

    def build(self, inputs_shape, classes_shape):
        self.normalization.build(inputs_shape)
        self.scale, self.offset = (
            keras.layers.Embedding(
                self.num_classes,
                inputs_shape[-1],
                embeddings_initializer=initializer,
                name=name,
                dtype=self.dtype_policy,
            )
            for name, initializer in (("scale", "ones"), ("offset", "zeros"))
        )
        for layer in (self.scale, self.offset):
            layer.build(classes_shape)

    def call(self, inputs, classes, training=None):
        x = self.normalization(inputs, training=training)
        scale = self.scale(classes)[:, None, None]
        return x * scale + self.offset(classes)[:, None, None]

    def get_config(self):
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "momentum": self.momentum,
        }
