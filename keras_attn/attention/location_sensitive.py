"""Location-sensitive attention: additive, and told where it looked before."""

import keras
from keras import ops

from keras_attn.attention.additive import AdditiveAttention
from keras_attn.base import argument_checks
from keras_attn.base.empty_batch import apply_to_rows
from keras_attn.ops import masks
from keras_attn.ops.recurrence import recur


@keras.saving.register_keras_serializable(package="keras_attn")
class LocationSensitiveAttention(AdditiveAttention):
    """Additive attention that knows the weights of the queries before.

        score(t, s) = v · tanh(W_q q(t) + W_k key(h(s)) + U f(t, s) + b)
        f(t)        = F * [w(t - 1); w(1) + … + w(t - 1)]
        w(t)        = softmax(score(t))                    over the keys s

    where * is a convolution over the keys, and w(0) is 1 at the first key.
    Content alone cannot tell equal words apart, and positions say nothing of
    sequences longer than the learned ones; "the next one after this" can be
    said of any. Queries are gone through one after the other.

    Args:
        units: Width of the hidden layer.
        filters, kernel_size: Of F.
        use_bias: Whether there is a b.
        key_projection, value_projection: None for h itself, "linear" for
            W h + b, or the name of a Keras activation σ for σ(W h + b).
        dropout: Fraction of the weights dropped while training.

    Call arguments:
        As those of `AdditiveAttention`. `attend_memory` also takes a
        `location`, what `start_location` or the last `next_location` returned.

    Returns:
        (batch, query, value_features), then (batch, query, key) if asked for.
        A query that may see nothing, or is padding, gets zeros.

    Reference:
        Chorowski et al. 2015, section 2.1. https://arxiv.org/abs/1506.07503
        Shen et al. 2018, section 2.2, the sum. https://arxiv.org/abs/1712.05884
    """

    def __init__(
        self,
        units: int,
        *,
        filters: int = 32,
        kernel_size: int = 31,
        use_bias: bool = False,
        key_projection: str | None = None,
        value_projection: str | None = None,
        dropout: float = 0.0,
        **kwargs,
    ):
        super().__init__(
            units,
            use_bias=use_bias,
            key_projection=key_projection,
            value_projection=value_projection,
            dropout=dropout,
            **kwargs,
        )
        filters = argument_checks.integer(filters, "filters", at_least=1)
        kernel_size = argument_checks.integer(
            kernel_size, "kernel_size", at_least=1
        )
        if kernel_size % 2 == 0:
            raise ValueError(
                "`kernel_size` must be odd: as many keys before a key as after "
                f"it. Received: kernel_size={kernel_size}"
            )
        self.filters = filters
        self.kernel_size = kernel_size
        self.location_filters = keras.layers.Conv1D(
            filters,
            kernel_size,
            padding="same",
            use_bias=False,
            name="location_filters",
            dtype=self.dtype_policy,
        )
        self.location_dense = keras.layers.Dense(
            units, use_bias=False, name="location", dtype=self.dtype_policy
        )

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        self.location_filters.build((None, None, 2))
        self.location_dense.build((None, None, self.filters))

    def get_config(self):
        return {
            **super().get_config(),
            "filters": self.filters,
            "kernel_size": self.kernel_size,
        }

    def start_location(self, memory: dict):
        """Where the first query finds attention: at the first key.

        Args:
            memory: What `project_memory` returned.

        Returns:
            (batch, key, 2): the weights of the last query, and the sum of
            those of all.
        """
        key, real = memory["key"], memory.get("mask")
        if real is None:
            real = ops.ones(ops.shape(key)[:2], "bool")
        number = ops.cumsum(ops.cast(real, "int32"), axis=1)
        first = ops.logical_and(real, ops.equal(number, 1))
        first = ops.cast(first, self._location_dtype)
        return ops.stack([first, ops.zeros_like(first)], axis=-1)

    def next_location(self, location, weights):
        """Where the next query finds attention.

        Args:
            location: (batch, key, 2), which this query was given.
            weights: (batch, key), those of this query.
        """
        weights = ops.cast(weights, location.dtype)
        return ops.stack([weights, location[..., 1] + weights], axis=-1)

    def attend_memory(
        self, query, memory, *, query_mask=None, location=None, **options
    ):
        """Attend to a memory, as `call` does to what it was made of.

        Args:
            query: (batch, query, query_features).
            memory: What `project_memory` returned.
            query_mask: (batch, query); padded queries move nothing.
            location: Where the queries before have left attention; None if
                there were none.
            options: As for `call`.

        Returns:
            As `call`.
        """
        if location is None:
            location = self.start_location(memory)
        return super().attend_memory(
            query,
            memory,
            query_mask=query_mask,
            location=location,
            real=masks.as_boolean(query_mask, "query_mask"),
            **options,
        )

    def attend(self, query, key, value, *, location, real, **options):
        if query.shape[1] == 1:
            return self._attend_one(query, key, value, location, **options)
        return self._attend_in_turn(
            query, key, value, location, real, **options
        )

    @property
    def _location_dtype(self):
        # Sums of many weights: bfloat16 has three digits.
        return keras.backend.result_type(self.compute_dtype, "float32")

    def _attend_one(self, query, key, value, location, **options):
        # (batch, key, filters), then units
        features = self._filtered(location)
        key = key + self.location_dense(features)
        return super().attend(query, key, value, **options)

    def _attend_in_turn(
        self,
        query,
        key,
        value,
        location,
        real,
        *,
        mask,
        query_positions,
        key_positions,
        causal,
        seed,
        **options,
    ):
        if causal:
            visible = masks.by_position(
                query_positions, key_positions, causal=True, window=None
            )
            mask = masks.combine(mask, visible)
        batch, length = ops.shape(query)[:2]
        if mask is None:
            mask = ops.ones((1, 1, 1), "bool")
        # (batch, query, key)
        mask = ops.broadcast_to(mask, (batch, length, ops.shape(key)[1]))
        seeds = masks.from_start(query)  # (1, query)
        if seed is not None:
            # Others are dropped at each step.
            seeds = seed[:, None] + ops.cast(seeds, seed.dtype)  # (2, query)

        def step(now, states):
            query, mask, seed = now
            (location,) = states
            output, weights = self._attend_one(
                ops.expand_dims(query, 1),
                key,
                value,
                location,
                mask=ops.expand_dims(mask, 1),
                seed=seed,
                **options,
            )
            output, weights = output[:, 0], weights[:, 0]
            return (output, weights), [self.next_location(location, weights)]

        (output, weights), _ = recur(
            step, (query, mask, seeds), [location], mask=real
        )
        return output, weights

    def _filtered(self, location):
        """Convolve over the keys: (batch, key, filters)."""
        if location.shape[1] == 0:
            # Not every Keras (3.13, for one) convolves nothing.
            return location[..., :1] * ops.zeros(self.filters, location.dtype)
        return apply_to_rows(self.location_filters, location)
