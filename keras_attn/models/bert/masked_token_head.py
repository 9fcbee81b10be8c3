"""From the vector of a masked position to the one that scores its token."""

import keras

from keras_attn.base.layer import Layer
from keras_attn.blocks import activations
from keras_attn.blocks.residual import make_normalization


@keras.saving.register_keras_serializable(package="keras_attn")
class MaskedTokenHead(Layer):
    """The head of masked language modelling, up to the logits.

        output = norm(activation(W x + b))
        logits = E output + c

    where E, the matrix of the model's embedding, and c, a `LogitsBias`, come
    after this layer.

    Args:
        activation: The nonlinearity.
        epsilon: Added to the variance.
        kernel_initializer: Of W.

    Call arguments:
        inputs: (batch, length, features).

    Returns:
        (batch, length, features).

    Reference:
        Devlin et al. 2019, section 3.1. https://arxiv.org/abs/1810.04805
    """

    def __init__(
        self,
        *,
        activation="gelu",
        epsilon: float = 1e-12,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.activation = activations.get(activation)
        self.epsilon = epsilon
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.normalize = make_normalization(
            "layer", epsilon, dtype=self.dtype_policy
        )
        self.supports_masking = True

    def build(self, input_shape):
        self.dense = keras.layers.Dense(
            input_shape[-1],
            activation=self.activation,
            kernel_initializer=self.kernel_initializer.clone(),
            name="dense",
            dtype=self.dtype_policy,
        )
        self.dense.build(input_shape)
        self.normalize.build(input_shape)

    def call(self, inputs):
        return self.normalize(self.dense(inputs))

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "activation": activations.serialize(self.activation),
            "epsilon": self.epsilon,
            "kernel_initializer": serialize(self.kernel_initializer),
        }
