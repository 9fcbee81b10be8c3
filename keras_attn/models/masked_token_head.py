"""From the vector of a masked position to the one that scores its token."""

import keras

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.blocks import activations
from keras_attn.blocks.residual import make_normalization


@keras.saving.register_keras_serializable(package="keras_attn")
class MaskedTokenHead(Layer):
    """The head of masked language modelling, up to the logits.

        output = norm(activation(W x + b))
        logits = E output + c

    where E, the matrix of the model's embedding, and c, a `LogitsBias`, come
    after this layer. With `units` it is the first half of any classifier
    with one hidden layer.

    Args:
        units: Length of the output; the inputs' features if not given.
        activation: The nonlinearity.
        epsilon: Added to the variance.
        kernel_initializer: Of W.

    Call arguments:
        inputs: (batch, length, features).

    Returns:
        (batch, length, units).

    Reference:
        Devlin et al. 2019, section 3.1. https://arxiv.org/abs/1810.04805
    """

    def __init__(
        self,
        *,
        units: int | None = None,
        activation="gelu",
        epsilon: float = 1e-12,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        if units is not None:
            units = argument_checks.integer(units, "units", at_least=1)
        self.units = units
        self.activation = activations.get(activation)
        self.epsilon = epsilon
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.normalize = make_normalization(
            "layer", epsilon, dtype=self.dtype_policy
        )
        self.supports_masking = True

    def build(self, input_shape):
        units = self.units or input_shape[-1]
        self.dense = keras.layers.Dense(
            units,
            activation=self.activation,
            kernel_initializer=self.kernel_initializer.clone(),
            name="dense",
            dtype=self.dtype_policy,
        )
        self.dense.build(input_shape)
        self.normalize.build((*input_shape[:-1], units))

    def call(self, inputs):
        return self.normalize(self.dense(inputs))

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "units": self.units,
            "activation": activations.serialize(self.activation),
            "epsilon": self.epsilon,
            "kernel_initializer": serialize(self.kernel_initializer),
        }
