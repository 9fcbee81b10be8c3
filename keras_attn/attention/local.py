"""Local attention: look around one place of the source."""

import keras
from keras import ops

from keras_attn.attention import checks
from keras_attn.attention.padding import without_padding
from keras_attn.base.layer import Layer
from keras_attn.ops import masks
from keras_attn.ops.checks import dropout_rate
from keras_attn.ops.dropout import seeded_dropout
from keras_attn.ops.softmax import masked_softmax


@keras.saving.register_keras_serializable(package="keras_attn")
class LocalAttention(Layer):
    """Attention that sees a window around an aligned position.

        p(t)         = t                                  "monotonic", local-m
                       S · sigmoid(v · tanh(W_p q(t)))    "predictive", local-p
        align(t, s)  = softmax(q(t)ᵀ W h(s))   over s with |s - p(t)| <= D
        weight(t, s) = align(t, s) · exp(-(s - p(t))² / (2 σ²)),   σ = D / 2

    where "monotonic" goes without the exponential and "dot" without W. S is
    the length of each source, its padding not counted; s and t count from 0.

    Args:
        half_width: D, how far from p(t) a position may be to be seen.
        alignment: "predictive" or "monotonic".
        score: "general" or "dot".
        dropout: Fraction of the weights dropped while training.

    Call arguments:
        query: (batch, query, query_features); query_mask: (batch, query).
        value: (batch, key, value_features); value_mask: (batch, key).
        key: (batch, key, key_features), or `value`; key_mask likewise.
        attention_mask: Broadcastable to (batch, query, key).
        query_positions: (batch or 1, query), t if it does not count from 0.
        return_attention_scores: Whether to return the weights as well.
        use_causal_mask: Whether query t sees keys 0 to t only.

    Returns:
        (batch, query, value_features), then (batch, query, key) if asked for.
        A query that may see nothing, or is padding, gets zeros.

    Reference:
        Luong et al. 2015, section 3.2. https://arxiv.org/abs/1508.04025
    """

    def __init__(
        self,
        half_width: int,
        *,
        alignment: str = "predictive",
        score: str = "general",
        dropout: float = 0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        checks.size(half_width, "half_width")
        checks.choice(alignment, ("predictive", "monotonic"), "alignment")
        checks.choice(score, ("general", "dot"), "score")
        dropout_rate(dropout)
        self.half_width = half_width
        self.alignment = alignment
        self.score = score
        self.dropout = dropout
        self.supports_masking = True  # the output carries the query's mask
        self.seed_generator = keras.random.SeedGenerator() if dropout else None

    def build(self, query_shape, value_shape, key_shape=None):
        key_shape = value_shape if key_shape is None else key_shape
        checks.sequences(query=query_shape, value=value_shape, key=key_shape)
        if self.score == "dot":
            checks.same_width(query_shape, key_shape, "Use `score='general'`.")
        else:
            self.query_dense = keras.layers.Dense(
                key_shape[-1],
                use_bias=False,
                name="query",
                dtype=self.dtype_policy,
            )
            self.query_dense.build(query_shape)
        if self.alignment == "predictive":
            self.position_dense = keras.layers.Dense(
                query_shape[-1],
                activation="tanh",
                use_bias=False,
                name="position",
                dtype=self.dtype_policy,
            )
            self.position_dense.build(query_shape)
            self.position_vector = self.add_weight(
                name="position_vector", shape=(query_shape[-1],)
            )

    def call(
        self,
        query,
        value,
        key=None,
        *,
        query_mask=None,
        value_mask=None,
        key_mask=None,
        attention_mask=None,
        query_positions=None,
        return_attention_scores=False,
        use_causal_mask=False,
        training=None,
    ):
        key = value if key is None else key
        padding = {"value_mask": value_mask, "key_mask": key_mask}
        shape = (query.shape[0], query.shape[1], value.shape[1])
        real = masks.for_attention(**padding, shape=shape)
        mask = masks.for_attention(
            **padding, attention_mask=attention_mask, shape=shape
        )
        query, value, key = without_padding(
            query, value, key, query_mask=query_mask, **padding
        )
        source = _places(key, None if real is None else real[:, 0])
        if query_positions is None:
            target = _places(query, masks.as_boolean(query_mask, "query_mask"))
        else:
            target = ops.cast(query_positions, "float32")
        center = target  # (batch or 1, query)
        if self.alignment == "predictive":
            length = source[:, -1:] + 1.0  # (batch or 1, 1)
            center = length * self._predict(query)

        distance = source[:, None] - center[:, :, None]  # (batch, query, key)
        visible = masks.combine(
            mask,
            ops.abs(distance) <= self.half_width,
            masks.by_position(
                target, source, causal=use_causal_mask, window=None
            ),
        )
        weights = masked_softmax(self._scores(query, key), visible)
        if self.alignment == "predictive":
            deviation = self.half_width / 2
            gaussian = ops.exp(-(distance**2) / (2 * deviation**2))
            weights = ops.multiply(weights, gaussian)
        if training and self.dropout:
            seed = self.seed_generator.next()
            weights = seeded_dropout(weights, self.dropout, seed)
        weights = ops.cast(weights, value.dtype)
        weights = masks.zero_padding(weights, query_mask)
        output = ops.matmul(weights, value)  # (batch, query, value_features)
        return (output, weights) if return_attention_scores else output

    def get_config(self):
        return {
            **super().get_config(),
            "half_width": self.half_width,
            "alignment": self.alignment,
            "score": self.score,
            "dropout": self.dropout,
        }

    def _predict(self, query):
        """Where each query looks, as a fraction of the source."""
        hidden = self.position_dense(query)  # (batch, query, query_features)
        # bfloat16 cannot tell position 500 from 501 in a thousand.
        hidden = ops.cast(hidden, "float32")
        vector = ops.cast(self.position_vector, "float32")
        return ops.sigmoid(ops.einsum("bqf,f->bq", hidden, vector))

    def _scores(self, query, key):
        if self.score == "general":
            query = self.query_dense(query)  # (batch, query, key_features)
        # The product of long vectors overflows float16.
        dtype = keras.backend.result_type(query.dtype, "float32")
        query, key = ops.cast(query, dtype), ops.cast(key, dtype)
        return ops.einsum("bqf,bkf->bqk", query, key)


def _places(sequence, padding):
    """Number the positions that are not padding, wherever padding stands.

    Args:
        sequence: (batch, length, features).
        padding: (batch, length), True where there is no padding, or None.

    Returns:
        (batch or 1, length) floats: 0, 1, 2, …
    """
    if padding is None:
        return ops.cast(masks.from_start(sequence), "float32")
    return ops.cumsum(ops.cast(padding, "float32"), axis=1) - 1.0
