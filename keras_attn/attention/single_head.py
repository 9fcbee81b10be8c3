"""What the single-head attention layers share: all but the score."""

import keras

from keras_attn.attention import checks
from keras_attn.attention.padding import without_padding
from keras_attn.base.layer import Layer
from keras_attn.ops import masks
from keras_attn.ops.checks import dropout_rate


class SingleHeadAttention(Layer):
    """Attention of one head, whatever its score.

        weights(q) = softmax(score(q, key(h)))        over the keys h
        output(q)  = Σ weights(q) value(h)

    The functions `key` and `value` leave h alone, or are W h + b ("linear"),
    or σ(W h + b) with σ a Keras activation. A subclass says in `attend` how
    keys are scored.

    Args:
        key_projection, value_projection: None, "linear" or the name of an
            activation.
        dropout: Fraction of the weights dropped while training.

    Call arguments:
        query: (batch, query, query_features).
        value: (batch, key, value_features).
        key: (batch, key, key_features); `value` if not given.
        query_mask: (batch, query); padded queries get zeros.
        value_mask, key_mask: (batch, key); padded keys are not seen.
        attention_mask: Broadcastable to (batch, query, key).
        return_attention_scores: Whether to return the weights as well.
        use_causal_mask: Whether query i sees keys 0 to i only.

    Returns:
        (batch, query, value_features), then (batch, query, key) if asked for.
        A query that may see nothing gets zeros.
    """

    def __init__(
        self,
        *,
        key_projection: str | None = None,
        value_projection: str | None = None,
        dropout: float = 0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        checks.function(key_projection, "key_projection")
        checks.function(value_projection, "value_projection")
        dropout_rate(dropout)
        self.key_projection = key_projection
        self.value_projection = value_projection
        self.dropout = dropout
        self.supports_masking = True  # the output carries the query's mask

        self.key_layer = None
        self.value_layer = None
        self.seed_generator = keras.random.SeedGenerator() if dropout else None

    def build(self, query_shape, value_shape, key_shape=None):
        key_shape = value_shape if key_shape is None else key_shape
        checks.sequences(query=query_shape, value=value_shape, key=key_shape)
        if self.key_projection is not None:
            self.key_layer = keras.layers.Dense(
                self.key_width(query_shape, key_shape),
                activation=self.key_projection,
                name="key_projection",
                dtype=self.dtype_policy,
            )
            self.key_layer.build(key_shape)
        if self.value_projection is not None:
            self.value_layer = keras.layers.Dense(
                value_shape[-1],
                activation=self.value_projection,
                name="value_projection",
                dtype=self.dtype_policy,
            )
            self.value_layer.build(value_shape)

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
        return_attention_scores=False,
        use_causal_mask=False,
        training=None,
    ):
        key = value if key is None else key
        mask = masks.for_attention(
            value_mask=value_mask,
            key_mask=key_mask,
            attention_mask=attention_mask,
            shape=(query.shape[0], query.shape[1], value.shape[1]),
        )
        query, value, key = without_padding(
            query,
            value,
            key,
            query_mask=query_mask,
            value_mask=value_mask,
            key_mask=key_mask,
        )
        dropout = self.dropout if training else 0.0
        output, weights = self.attend(
            query,
            key if self.key_layer is None else self.key_layer(key),
            value if self.value_layer is None else self.value_layer(value),
            mask=mask,
            causal=use_causal_mask,
            dropout=dropout,
            seed=self.seed_generator.next() if dropout else None,
            return_weights=return_attention_scores,
        )
        output = masks.zero_padding(output, query_mask)
        if not return_attention_scores:
            return output
        return output, masks.zero_padding(weights, query_mask)

    def get_config(self):
        return {
            **super().get_config(),
            "key_projection": self.key_projection,
            "value_projection": self.value_projection,
            "dropout": self.dropout,
        }

    def key_width(self, query_shape, key_shape) -> int:
        """Width of key(h): unless overridden, the width of h."""
        return key_shape[-1]

    def attend(
        self,
        query,
        key,
        value,
        *,
        mask,
        causal: bool,
        dropout: float,
        seed,
        return_weights: bool,
    ):
        """Look at the keys; to be defined by each score.

        Args:
            query: (batch, query, query_features).
            key, value: (batch, key, features), as their functions left them.
            mask: Broadcastable to (batch, query, key), or None.
            causal: Whether query i sees keys 0 to i only.
            dropout, seed: Fraction of the weights dropped, and (2,) integers.
            return_weights: Whether the weights are wanted.

        Returns:
            (batch, query, features), and (batch, query, key) weights, which
            may be None if they are not wanted.
        """
        raise NotImplementedError
