"""A feed-forward network whose hidden vector is gated."""

import keras

from keras_attn.blocks.feed_forward import FeedForward


@keras.saving.register_keras_serializable(package="keras_attn")
class GatedFeedForward(FeedForward):
    """The same small gated network at every position.

        output = W_2 (activation(W_1 x) · W_3 x)

    SwiGLU with `activation="silu"`, GEGLU with `"gelu"`. With three matrices
    in place of two, two thirds of the usual `hidden_dim` cost the same.

    Args:
        hidden_dim: Length of the vectors in between.
        activation: The nonlinearity of the gate.
        use_bias: Whether the maps have biases; the paper's have none.
        dropout: Fraction of the hidden vector dropped while training.
        kernel_initializer: Of W_1, W_2 and W_3.

    Call arguments:
        inputs: (batch, length, features).
        training: Whether anything is dropped.

    Returns:
        (batch, length, features).

    Reference:
        Shazeer 2020, equation 6. https://arxiv.org/abs/2002.05202
    """

    def __init__(
        self,
        hidden_dim: int,
        *,
        activation="silu",
        use_bias: bool = False,
        dropout: float = 0.0,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(
            hidden_dim,
            activation=activation,
            use_bias=use_bias,
            dropout=dropout,
            kernel_initializer=kernel_initializer,
            **kwargs,
        )
        self.value_dense = self._dense(hidden_dim, "value")

    def build(self, input_shape):
        super().build(input_shape)
        self.value_dense.build(input_shape)
