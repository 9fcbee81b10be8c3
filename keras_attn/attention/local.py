"""Local attention: a window around one position of the source."""

import keras
from keras import ops

from keras_attn.attention import checks
from keras_attn.attention.heads.projecting import project_query
from keras_attn.attention.one_head import one_head_average
from keras_attn.attention.single_head import SingleHeadAttention
from keras_attn.base import argument_checks
from keras_attn.ops import masks


@keras.saving.register_keras_serializable(package="keras_attn")
class LocalAttention(SingleHeadAttention):
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
        key_projection, value_projection: None for h itself, "linear" for
            W h + b, or the name of a Keras activation σ for σ(W h + b).
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
        half_width = argument_checks.integer(
            half_width, "half_width", at_least=1
        )
        argument_checks.choice(
            alignment, "alignment", ("predictive", "monotonic")
        )
        argument_checks.choice(score, "score", ("general", "dot"))
        self.half_width = half_width
        self.alignment = alignment
        self.score = score

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        key_shape = value_shape if key_shape is None else key_shape
        if self.score == "dot" and self.key_projection is None:
            checks.same_width(query_shape, key_shape, "Use `score='general'`.")
        if self.score == "general":
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

    def get_config(self):
        return {
            **super().get_config(),
            "half_width": self.half_width,
            "alignment": self.alignment,
            "score": self.score,
        }

    def key_width(self, query_shape, key_shape):
        return (query_shape if self.score == "dot" else key_shape)[-1]

    def count_positions(self, sequence, mask):
        # Those that are not padding, wherever padding stands: 0, 1, 2, …
        if mask is None:
            return ops.cast(masks.from_start(sequence), "float32")
        return ops.cumsum(ops.cast(mask, "float32"), axis=1) - 1.0

    def attend(
        self,
        query,
        key,
        value,
        *,
        mask,
        query_positions,
        key_positions,
        **options,
    ):
        target = ops.cast(query_positions, "float32")
        center = target  # (batch or 1, query)
        if self.alignment == "predictive":
            length = key_positions[:, -1:] + 1.0  # (batch or 1, 1)
            center = length * self._predict(query)
        # (batch, query, key)
        distance = key_positions[:, None] - center[:, :, None]
        near = ops.abs(distance) <= self.half_width
        gaussian = None
        if self.alignment == "predictive":
            deviation = self.half_width / 2
            gaussian = ops.exp(-(distance**2) / (2 * deviation**2))
        return one_head_average(
            self._scores(query, key),
            value,
            mask=masks.combine(mask, near),
            gain=gaussian,
            query_positions=target,
            key_positions=key_positions,
            **options,
        )

    def _predict(self, query):
        """Where each query attends, as a fraction of the source."""
        hidden = self.position_dense(query)  # (batch, query, query_features)
        # bfloat16 cannot tell position 500 from 501 in a thousand.
        hidden = ops.cast(hidden, "float32")
        vector = ops.cast(self.position_vector, "float32")
        return ops.sigmoid(ops.einsum("bqf,f->bq", hidden, vector))

    def _scores(self, query, key):
        if self.score == "general":
            # (batch, query, key_features)
            query = project_query(query, self.query_dense)
        # The product of long vectors overflows float16.
        dtype = keras.backend.result_type(query.dtype, "float32")
        query, key = ops.cast(query, dtype), ops.cast(key, dtype)
        return ops.einsum("bqf,bkf->bqk", query, key)
