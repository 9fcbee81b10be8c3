"""Dot-product attention: the score is how well query and key align."""

import keras

from keras_attn.attention import checks
from keras_attn.attention.one_head import one_head_attention
from keras_attn.attention.single_head import SingleHeadAttention
from keras_attn.base import argument_checks


@keras.saving.register_keras_serializable(package="keras_attn")
class DotAttention(SingleHeadAttention):
    """Attention scored by the dot product of query and key.

        score(q, h) = q · key(h)            "dot"
                      q · key(h) / √depth   "scaled_dot"
        output(q)   = Σ softmax(score(q, h)) value(h)        over the keys h

    Nothing to learn unless a function is asked for, and memory linear in the
    length. A key function gives keys the width of the query.

    Args:
        score: "scaled_dot" or "dot".
        key_projection, value_projection: None for h itself, "linear" for
            W h + b, or the name of a Keras activation σ for σ(W h + b).
        dropout: Fraction of the weights dropped while training.

    Call arguments:
        query: (batch, query, depth); query_mask: (batch, query).
        value: (batch, key, features); value_mask: (batch, key).
        key: (batch, key, depth), or `value` if not given; key_mask likewise.
        attention_mask: Broadcastable to (batch, query, key).
        query_positions: (batch or 1, query), if they do not count from 0.
        return_attention_scores: Whether to return the weights as well.
        use_causal_mask: Whether query i sees keys 0 to i only.

    Returns:
        (batch, query, features), then (batch, query, key) if asked for. A
        query that may see nothing, or is padding, gets zeros.

    Reference:
        Luong et al. 2015, section 3.1. https://arxiv.org/abs/1508.04025
        Vaswani et al. 2017, equation 1. https://arxiv.org/abs/1706.03762
    """

    def __init__(
        self,
        *,
        score: str = "scaled_dot",
        key_projection: str | None = None,
        value_projection: str | None = None,
        dropout: float = 0.0,
        **kwargs,
    ):
        super().__init__(
            key_projection=key_projection,
            value_projection=value_projection,
            dropout=dropout,
            **kwargs,
        )
        argument_checks.choice(score, "score", ("scaled_dot", "dot"))
        self.score = score

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        if self.key_projection is None:
            checks.same_width(
                query_shape,
                value_shape if key_shape is None else key_shape,
                "Use `MultiplicativeAttention`, which learns to compare them, "
                "or `key_projection='linear'`.",
            )

    def get_config(self):
        return {**super().get_config(), "score": self.score}

    def key_width(self, query_shape, key_shape):
        return query_shape[-1]

    def attend(self, query, key, value, **options):
        scale = 1.0 if self.score == "dot" else None  # None is 1 / √depth
        return one_head_attention(query, key, value, scale=scale, **options)
