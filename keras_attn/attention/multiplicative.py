"""Multiplicative attention: the score is a learned product."""

import keras

from keras_attn.attention.heads.projecting import project_query
from keras_attn.attention.one_head import one_head_attention
from keras_attn.attention.single_head import SingleHeadAttention
from keras_attn.base import argument_checks


@keras.saving.register_keras_serializable(package="keras_attn")
class MultiplicativeAttention(SingleHeadAttention):
    """Attention scored by a learned product of query and key.

        score(q, h) = key(h)ᵀ W q                 without `units`
                      (W_k key(h)) · (W_q q)      with `units`: low rank
        output(q)   = Σ softmax(score(q, h)) value(h)        over the keys h

    Luong's "general" score. Query and key may differ in width, and memory is
    linear in the length. `units` saves weights where both are wide.

    Args:
        units: Rank of W = W_kᵀ W_q; None for a full W.
        key_projection, value_projection: None for h itself, "linear" for
            W h + b, or the name of a Keras activation σ for σ(W h + b).
        dropout: Fraction of the weights dropped while training.

    Call arguments:
        query: (batch, query, query_features); query_mask: (batch, query).
        value: (batch, key, value_features); value_mask: (batch, key).
        key: (batch, key, key_features), or `value`; key_mask likewise.
        attention_mask: Broadcastable to (batch, query, key).
        query_positions: (batch or 1, query), if they do not count from 0.
        return_attention_scores: Whether to return the weights as well.
        use_causal_mask: Whether query i sees keys 0 to i only.

    Returns:
        (batch, query, value_features), then (batch, query, key) if asked for.
        A query that may see nothing, or is padding, gets zeros.

    Reference:
        Luong et al. 2015, section 3.1. https://arxiv.org/abs/1508.04025
    """

    def __init__(
        self,
        *,
        units: int | None = None,
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
        if units is not None:
            units = argument_checks.integer(units, "units", at_least=1)
        self.units = units
        self.key_dense = None

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        key_shape = value_shape if key_shape is None else key_shape
        dense = dict(use_bias=False, dtype=self.dtype_policy)
        self.query_dense = keras.layers.Dense(
            self.units or key_shape[-1], name="query", **dense
        )
        self.query_dense.build(query_shape)
        if self.units is not None:
            self.key_dense = keras.layers.Dense(self.units, name="key", **dense)
            self.key_dense.build(key_shape)

    def get_config(self):
        return {**super().get_config(), "units": self.units}

    def project_key(self, key):
        # (batch, key, depth = units)
        return key if self.key_dense is None else self.key_dense(key)

    def attend(self, query, key, value, **options):
        query = project_query(query, self.query_dense)  # (batch, query, depth)
        return one_head_attention(query, key, value, scale=1.0, **options)
