"""The block that an encoder is a stack of."""

import keras
from keras import ops

from keras_attn.blocks.block import Block
from keras_attn.ops import masks


@keras.saving.register_keras_serializable(package="keras_attn")
class EncoderBlock(Block):
    """Self-attention, then a feed-forward network, each with a residual.

        Z      = norm(x + attention(x, x))
        output = norm(Z + feed_forward(Z))

    With `norm="pre"` the norms stand at the head of each sublayer instead:
    Z = x + attention(norm(x)), output = Z + feed_forward(norm(Z)). With
    `normalization="batch"` padding is left out of the statistics.

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
        self.build_self_attention(input_shape)
        self.build_feed_forward(input_shape)

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
        if segments is not None:
            mask = masks.combine(mask, ops.convert_to_tensor(segments) != 0)
        if use_causal_mask and self.normalization == "batch":
            raise ValueError(
                'normalization="batch" does not go with `use_causal_mask`: the '
                "statistics of a batch tell each position of those after it. "
                'Use "layer" or "rms".'
            )
        x = masks.zero_padding(inputs, mask, "mask")
        x, weights = self.attend_self(
            x,
            mask,
            attention_mask=attention_mask,
            segments=segments,
            use_causal_mask=use_causal_mask,
            return_attention_scores=return_attention_scores,
            training=training,
        )
        x = self.feed(x, training, mask)
        return (x, *weights) if return_attention_scores else x
