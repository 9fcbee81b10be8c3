"""Two linear maps with a nonlinearity between them."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.blocks import activations


@keras.saving.register_keras_serializable(package="keras_attn")
class FeedForward(Layer):
    """The same small network at every position.

        output = W_2 activation(W_1 x + b_1) + b_2

    Args:
        hidden_dim: Length of the vectors in between; the paper takes four
            times the features.
        activation: The nonlinearity.
        use_bias: Whether there are b_1 and b_2.
        dropout: Fraction of the hidden vector dropped while training.
        kernel_initializer: Of W_1 and W_2.

    Call arguments:
        inputs: (batch, length, features).
        training: Whether anything is dropped.

    Returns:
        (batch, length, features).

    Reference:
        Vaswani et al. 2017, section 3.3. https://arxiv.org/abs/1706.03762
    """

    def __init__(
        self,
        hidden_dim: int,
        *,
        activation="relu",
        use_bias: bool = True,
        dropout: float = 0.0,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        hidden_dim = argument_checks.integer(
            hidden_dim, "hidden_dim", at_least=1
        )
        argument_checks.rate(dropout)
        self.hidden_dim = hidden_dim
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.dropout = dropout
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.supports_masking = True
        self.hidden_dense = self._dense(
            hidden_dim, "hidden", activation=self.activation
        )
        self.value_dense = None  # for networks whose hidden vector is gated
        self.dropout_layer = keras.layers.Dropout(
            dropout, dtype=self.dtype_policy
        )

    def build(self, input_shape):
        self.hidden_dense.build(input_shape)
        self.output_dense = self._dense(input_shape[-1], "output")
        self.output_dense.build((*input_shape[:-1], self.hidden_dim))

    def call(self, inputs, training=None):
        x, has_length = inputs, len(inputs.shape) > 2
        if has_length:
            # Where lengths are unknown, a product of more axes than two has
            # many ops of shapes around it.
            x = ops.reshape(inputs, (-1, inputs.shape[-1]))
        hidden = self.hidden_dense(x)
        if self.value_dense is not None:
            hidden *= self.value_dense(x)
        hidden = self.dropout_layer(hidden, training=training)
        x = self.output_dense(hidden)
        return ops.reshape(x, ops.shape(inputs)) if has_length else x

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "hidden_dim": self.hidden_dim,
            "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "dropout": self.dropout,
            "kernel_initializer": serialize(self.kernel_initializer),
        }

    def _dense(self, units, name, activation=None):
        return keras.layers.Dense(
            units,
            activation=activation,
            use_bias=self.use_bias,
            kernel_initializer=self.kernel_initializer.clone(),
            name=name,
            dtype=self.dtype_policy,
        )
