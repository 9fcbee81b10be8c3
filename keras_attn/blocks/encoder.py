"""The block that an encoder is a stack of."""

import keras

from keras_attn.blocks.block import Block
from keras_attn.ops import masks


@keras.saving.register_keras_serializable(package="keras_attn")
class EncoderBlock(Block):
    """Self-attention, then a feed-forward network, each with a residual.

        Z      = norm(x + attention(x, x))
        output = norm(Z + feed_forward(Z))

    With `norm="pre"` the norms stand at the head of each sublayer instead:
    Z = x + attention(norm(x)), output = Z + feed_forward(norm(Z)).

    Args: as for `Block`: num_heads, hidden_dim, norm, normalization, epsilon,
        activation, use_bias, dropout, attention, layer_scale,
        stochastic_depth, kernel_initializer.

    Call arguments:
        inputs: (batch, length, features).
        mask: (batch, length) padding mask; filled in by Keras.
        attention_mask: (batch, length, length) booleans, or as for
            `MultiHeadAttention`.
        segments: (batch, length) integers: positions see their own segment
            only, and 0 is padding.
        use_causal_mask: Whether position i sees positions 0 to i only.
        return_attention_scores: Whether to return the weights as well.
        training: Whether anything is dropped.

    Returns:
        (batch, length, features), then (batch, heads, length, length) weights
        if asked for.

    Reference:
        Vaswani et al. 2017, section 3.1. https://arxiv.org/abs/1706.03762
    """

    def build(self, input_shape):
        features = input_shape[-1]
        self.self_attention = self.make_attention("self_attention", features)
        self.self_attention.build(input_shape, input_shape)
        self.attention_residual = self.make_residual("attention_residual")
        self.attention_residual.build(input_shape)
        self.feed_forward = self.make_feed_forward()
        self.feed_forward.build(input_shape)
        self.feed_forward_residual = self.make_residual("feed_forward_residual")
        self.feed_forward_residual.build(input_shape)

    def call(
        self,
        inputs,
        *,
        mask=None,
        inputs_mask=None,
        attention_mask=None,
        segments=None,
        use_causal_mask=False,
        return_attention_scores=False,
        training=None,
    ):
        # Keras fills in `mask` if a layer is called with one tensor only, and
        # `inputs_mask` if there is an `attention_mask` as well.
        mask = inputs_mask if mask is None else mask
        x = masks.zero_padding(inputs, mask, "mask")

        y = self.attention_residual.before(x)
        y = self.self_attention(
            y,
            y,
            query_mask=mask,
            value_mask=mask,
            attention_mask=attention_mask,
            segments=segments,
            use_causal_mask=use_causal_mask,
            return_attention_scores=return_attention_scores,
            training=training,
        )
        y, *weights = y if return_attention_scores else (y,)
        x = self.attention_residual.after(x, y, training)

        y = self.feed_forward_residual.before(x)
        y = self.feed_forward(y, training=training)
        x = self.feed_forward_residual.after(x, y, training)
        return (x, *weights) if return_attention_scores else x
