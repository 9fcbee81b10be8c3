"""Self-attention: every position attends to every other."""

import keras

from keras_attn.attention import checks
from keras_attn.attention.one_head import one_head_attention
from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.ops import masks


@keras.saving.register_keras_serializable(package="keras_attn")
class SelfAttention(Layer):
    """Self-attention with one head.

        query, key, value = W_q x, W_k x, W_v x
        output            = softmax(query · key / √units) value

    The positions of `inputs` attend to each other; order means nothing to it
    unless it is `causal`, so add positions to the inputs where order matters.
    Memory is linear in the length. For several heads, for grouped heads or
    for position inside the score use `MultiHeadAttention`.

    Args:
        units: Width of query, key and value, and so of the output.
        causal: Whether a position sees itself and earlier ones only.
        use_bias: Whether query, key and value have biases.
        dropout: Fraction of the weights dropped while training.

    Call arguments:
        inputs: (batch, length, features).
        mask: (batch, length); padding is not seen, and sees nothing.
        attention_mask: Broadcastable to (batch, length, length).
        return_attention_scores: Whether to return the weights as well.
        use_causal_mask: Whether this call is causal, though the layer is not.

    Returns:
        (batch, length, units), then (batch, length, length), query by key, if
        asked for. A position that may see nothing gets zeros.

    Reference:
        Vaswani et al. 2017, section 3.2.1. https://arxiv.org/abs/1706.03762
    """

    def __init__(
        self,
        units: int,
        *,
        causal: bool = False,
        use_bias: bool = False,
        dropout: float = 0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        units = argument_checks.integer(units, "units", at_least=1)
        argument_checks.rate(dropout)
        self.units = units
        self.causal = causal
        self.use_bias = use_bias
        self.dropout = dropout
        self.supports_masking = True

        dense = dict(use_bias=use_bias, dtype=self.dtype_policy)
        self.query_dense = keras.layers.Dense(units, name="query", **dense)
        self.key_dense = keras.layers.Dense(units, name="key", **dense)
        self.value_dense = keras.layers.Dense(units, name="value", **dense)
        self.seed_generator = keras.random.SeedGenerator() if dropout else None

    def build(self, input_shape):
        checks.sequences(inputs=input_shape)
        self.query_dense.build(input_shape)
        self.key_dense.build(input_shape)
        self.value_dense.build(input_shape)

    def call(
        self,
        inputs,
        *,
        mask=None,
        inputs_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        use_causal_mask=False,
        training=None,
    ):
        # Keras fills in `mask` if a layer is called with one tensor only, and
        # `inputs_mask` if there is an `attention_mask` as well.
        mask = inputs_mask if mask is None else mask
        inputs = masks.zero_padding(inputs, mask, "mask")
        dropout = self.dropout if training else 0.0
        batch, length, _ = inputs.shape
        output, weights = one_head_attention(
            self.query_dense(inputs),
            self.key_dense(inputs),
            self.value_dense(inputs),
            mask=masks.for_attention(
                value_mask=mask,
                attention_mask=attention_mask,
                shape=(batch, length, length),
            ),
            causal=self.causal or use_causal_mask,
            dropout=dropout,
            seed=self.seed_generator.next() if dropout else None,
            return_weights=return_attention_scores,
        )
        output = masks.zero_padding(output, mask)
        if not return_attention_scores:
            return output
        return output, masks.zero_padding(weights, mask)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "causal": self.causal,
            "use_bias": self.use_bias,
            "dropout": self.dropout,
        }
