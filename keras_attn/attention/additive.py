"""Additive attention: the score is a small network."""

import keras
from keras import ops

from keras_attn.attention.heads.projecting import project_query
from keras_attn.attention.one_head import one_head_average
from keras_attn.attention.single_head import SingleHeadAttention
from keras_attn.base import argument_checks


@keras.saving.register_keras_serializable(package="keras_attn")
class AdditiveAttention(SingleHeadAttention):
    """Attention scored by a network with one hidden layer.

        score(q, h) = v · tanh(W_q q + W_k key(h) + b)
        output(q)   = Σ softmax(score(q, h)) value(h)        over the keys h

    Query and key may differ in width, which a dot product forbids. The price
    is a (batch, query, key, units) tensor: keep it for short sequences.

    Args:
        units: Width of the hidden layer.
        use_bias: Whether there is a b.
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
        Bahdanau et al. 2015, appendix A.1.2. https://arxiv.org/abs/1409.0473
    """

    def __init__(
        self,
        units: int,
        *,
        use_bias: bool = False,
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
        units = argument_checks.integer(units, "units", at_least=1)
        self.units = units
        self.use_bias = use_bias

        self.query_dense = keras.layers.Dense(
            units, use_bias=use_bias, name="query", dtype=self.dtype_policy
        )
        self.key_dense = keras.layers.Dense(
            units, use_bias=False, name="key", dtype=self.dtype_policy
        )

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        self.query_dense.build(query_shape)
        self.key_dense.build(value_shape if key_shape is None else key_shape)
        self.score_vector = self.add_weight(
            name="score_vector", shape=(self.units,)
        )

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "use_bias": self.use_bias,
        }

    def project_key(self, key):
        return self.key_dense(key)  # (batch, key, units)

    def attend(self, query, key, value, **options):
        query = project_query(query, self.query_dense)
        # Not key[:, None]: the gradient of a slice is a copy.
        query, key = ops.expand_dims(query, 2), ops.expand_dims(key, 1)
        hidden = ops.tanh(query + key)  # (batch, query, key, units)
        # Keras casts weights within a call only.
        vector = ops.cast(self.score_vector, hidden.dtype)
        scores = ops.einsum("bqku,u->bqk", hidden, vector)
        return one_head_average(scores, value, **options)
