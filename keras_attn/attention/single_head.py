"""What the single-head attention layers share: all but the score."""

import keras
from keras import ops

from keras_attn.attention import checks
from keras_attn.attention.heads.memory import clean_memory
from keras_attn.attention.heads.memory import pack_memory
from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.ops import masks


class SingleHeadAttention(Layer):
    """Attention of one head, whatever its score.

        weights(q) = softmax(score(q, key(h)))        over the keys h
        output(q)  = Σ weights(q) value(h)

    The functions `key` and `value` leave h alone, or are W h + b ("linear"),
    or σ(W h + b) with σ a Keras activation. A subclass says in `attend` how
    keys are scored. `call` is `project_memory` and `attend_memory`, which may
    be called apart: a decoder that goes step by step projects its memory once.

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
        query_positions: (batch or 1, query), where the queries stand if they
            do not count from 0.
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
        argument_checks.rate(dropout)
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
        query_positions=None,
        return_attention_scores=False,
        use_causal_mask=False,
        training=None,
    ):
        # Their names, for what the checks say; from here on they are one.
        padding = masks.for_attention(
            value_mask=value_mask,
            key_mask=key_mask,
            shape=(query.shape[0], query.shape[1], value.shape[1]),
        )  # (batch, 1, key)
        memory = self.project_memory(
            value, key, mask=None if padding is None else padding[:, 0]
        )
        return self.attend_memory(
            query,
            memory,
            query_positions=query_positions,
            query_mask=query_mask,
            attention_mask=attention_mask,
            return_attention_scores=return_attention_scores,
            use_causal_mask=use_causal_mask,
            training=training,
        )

    def project_memory(self, value, key=None, *, mask=None) -> dict:
        """Project keys and values once, for `attend_memory`.

        Args:
            value: (batch, key, value_features).
            key: (batch, key, key_features); `value` if not given.
            mask: (batch, key) booleans, False for padding, which may hold
                anything, NaN too; or None.

        Returns:
            The memory: "key" and "value" as they are scored and summed,
            (batch, key, features), and the "mask" if there is one.
        """
        value, key, mask = clean_memory(self, value, key, mask)
        key = key if self.key_layer is None else self.key_layer(key)
        value = value if self.value_layer is None else self.value_layer(value)
        return pack_memory(self.project_key(key), value, mask)

    def attend_memory(
        self,
        query,
        memory,
        *,
        query_positions=None,
        query_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        use_causal_mask=False,
        training=None,
        **more,
    ):
        """Attend to a memory, as `call` does to what it was made of.

        Args:
            query: (batch, query, query_features).
            memory: What `project_memory` returned.
            query_positions, query_mask, attention_mask,
                return_attention_scores, use_causal_mask, training: As for
                `call`.
            more: What the `attend` of a subclass takes besides.

        Returns:
            As `call`.
        """
        query = ops.cast(query, self.compute_dtype)
        query = masks.zero_padding(query, query_mask)
        key, value = memory["key"], memory["value"]
        padding = memory.get("mask")
        query_mask = masks.as_boolean(query_mask, "query_mask")
        if query_positions is None:
            query_positions = self.count_positions(query, query_mask)
        dropout = self.dropout if training else 0.0
        output, weights = self.attend(
            query,
            key,
            value,
            mask=masks.for_attention(
                value_mask=padding,
                attention_mask=attention_mask,
                shape=(query.shape[0], query.shape[1], value.shape[1]),
            ),
            query_positions=query_positions,
            key_positions=self.count_positions(key, padding),
            causal=use_causal_mask,
            dropout=dropout,
            seed=self.seed_generator.next() if dropout else None,
            return_weights=return_attention_scores,
            **more,
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

    def project_key(self, key):
        """What the score makes of key(h) alone; nothing unless overridden."""
        return key

    def count_positions(self, sequence, mask):
        """Where (batch, length, …) vectors stand: (batch or 1, length)."""
        return masks.from_start(sequence)

    def attend(
        self,
        query,
        key,
        value,
        *,
        mask,
        query_positions,
        key_positions,
        causal: bool,
        dropout: float,
        seed,
        return_weights: bool,
    ):
        """Attend to a memory; to be defined by each score.

        Args:
            query: (batch, query, query_features).
            key, value: (batch, key, features), as `project_memory` left them.
            mask: Broadcastable to (batch, query, key), or None.
            query_positions, key_positions: (batch or 1, length).
            causal: Whether keys at later positions are hidden.
            dropout, seed: Fraction of the weights dropped, and (2,) integers.
            return_weights: Whether the weights are wanted.

        Returns:
            (batch, query, features), and (batch, query, key) weights, which
            may be None if they are not wanted.
        """
        raise NotImplementedError
