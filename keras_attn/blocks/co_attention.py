"""The block by which two streams learn of each other."""

import keras

from keras_attn.attention.co_attention import CoAttention
from keras_attn.base import argument_checks
from keras_attn.base.mask_carrier import MaskCarrier
from keras_attn.blocks.block import Block
from keras_attn.ops import masks


@keras.saving.register_keras_serializable(package="keras_attn")
class CoAttentionBlock(Block):
    """Co-attention of two streams, then a feed-forward network in each.

        x'     = norm(x + attend(x, y))        y' = norm(y + attend(y, x))
        first  = norm(x' + feed_forward(x'))
        second = norm(y' + feed_forward(y'))

    where x and y are the streams as they came, of which each has weights and
    a width of its own. With `norm="pre"` the norms stand at the head of each
    sublayer instead.

    Args: as for `Block`: num_heads, hidden_dim, norm, normalization, epsilon,
        activation, use_bias, dropout, layer_scale, stochastic_depth,
        kernel_initializer; and
        second_hidden_dim: Hidden length of the second stream's feed-forward
            network; `hidden_dim` if not given.
        attention: Further arguments of `CoAttention`; `key_dim` is the first
            stream's features / num_heads if not given.

    Call arguments:
        first: (batch, first, first_features).
        second: (batch, second, second_features).
        first_mask, second_mask: (batch, first) and (batch, second) padding
            masks; filled in by Keras.
        attention_mask: As for `CoAttention`.
        return_attention_scores: Whether to return the weights as well.
        training: Whether anything is dropped.

    Returns:
        (batch, first, first_features) and (batch, second, second_features);
        if asked for, then (batch, heads, first, second) and (batch, heads,
        second, first) weights.

    Reference:
        Lu et al. 2019, section 2.2, figure 2b.
        https://arxiv.org/abs/1908.02265
    """

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        *,
        second_hidden_dim: int | None = None,
        **kwargs,
    ):
        super().__init__(num_heads, hidden_dim, **kwargs)
        if second_hidden_dim is not None:
            second_hidden_dim = argument_checks.integer(
                second_hidden_dim, "second_hidden_dim", at_least=1
            )
        self.second_hidden_dim = second_hidden_dim
        self.carry_mask = MaskCarrier(dtype=self.dtype_policy)

    def build(self, first_shape, second_shape):
        self.co_attention = self._make_co_attention(first_shape[-1])
        self.co_attention.build(first_shape, second_shape)
        first_dim = self.hidden_dim
        second_dim = self.second_hidden_dim or first_dim
        self.first_feed_forward = self.make_feed_forward(
            "first_feed_forward", first_dim
        )
        self.second_feed_forward = self.make_feed_forward(
            "second_feed_forward", second_dim
        )
        self.first_attention_residual = self.make_residual("first_attention")
        self.second_attention_residual = self.make_residual("second_attention")
        self.first_feed_residual = self.make_residual("first_feed")
        self.second_feed_residual = self.make_residual("second_feed")
        for stream, shape in (("first", first_shape), ("second", second_shape)):
            for part in ("attention_residual", "feed_forward", "feed_residual"):
                getattr(self, f"{stream}_{part}").build(shape)

    def call(
        self,
        first,
        second,
        *,
        first_mask=None,
        second_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
    ):
        x = masks.zero_padding(first, first_mask, "first_mask")
        y = masks.zero_padding(second, second_mask, "second_mask")
        x_around = self.first_attention_residual
        y_around = self.second_attention_residual
        x_seen, y_seen, *weights = self.co_attention(
            x_around.before(x, training, first_mask),
            y_around.before(y, training, second_mask),
            first_mask=first_mask,
            second_mask=second_mask,
            attention_mask=attention_mask,
            return_attention_scores=return_attention_scores,
            training=training,
        )
        x = x_around.after(x, x_seen, training, first_mask)
        y = y_around.after(y, y_seen, training, second_mask)

        x_around, y_around = self.first_feed_residual, self.second_feed_residual
        x_fed = self.first_feed_forward(
            x_around.before(x, training, first_mask), training=training
        )
        y_fed = self.second_feed_forward(
            y_around.before(y, training, second_mask), training=training
        )
        x = x_around.after(x, x_fed, training, first_mask)
        y = y_around.after(y, y_fed, training, second_mask)
        return x, self.carry_mask(y, mask=second_mask), *weights

    def get_config(self):
        config = super().get_config()
        return {**config, "second_hidden_dim": self.second_hidden_dim}

    def _make_co_attention(self, features):
        options = dict(self.attention)
        if "key_dim" not in options and features % self.num_heads:
            raise ValueError(
                "`num_heads` must divide the first stream's features. "
                f"Received: num_heads={self.num_heads}, features={features}. "
                "Choose another, or give the depth of a head: "
                'attention={"key_dim": ...}.'
            )
        return CoAttention(
            self.num_heads,
            **{
                "key_dim": features // self.num_heads,
                "dropout": self._rates["attention"],
                "use_bias": self.use_bias,
                "kernel_initializer": self.kernel_initializer.clone(),
                **options,
            },
            name="co_attention",
            dtype=self.dtype_policy,
        )
