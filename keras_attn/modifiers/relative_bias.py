"""T5's relative position bias: a learned number for each bucket and head."""

import keras
from keras import ops

from keras_attn.modifiers.modifier import Modifier
from keras_attn.ops.positions import relative_buckets


@keras.saving.register_keras_serializable(package="keras_attn")
class RelativeBias(Modifier):
    """Adds a learned number that depends on the distance and the head.

        bias(q, k) = table[bucket(query position - key position), head]

    Near distances have a bucket each, farther ones share buckets that grow
    with the logarithm of the distance, and all from `max_distance` on share
    the last. (T5 itself does not scale its scores: pass `scale=1.0`.)

    Args:
        num_buckets: Number of buckets; even, and half of them for each
            direction, if `bidirectional`.
        max_distance: Distance at which the last bucket is reached.
        bidirectional: Whether keys before and after the query have buckets of
            their own. False, for causal attention, puts all keys after the
            query into bucket 0.

    Reference:
        Raffel et al. 2020, section 2.1. https://arxiv.org/abs/1910.10683
    """

    def __init__(
        self,
        *,
        num_buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool = True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        directions = 2 if bidirectional else 1
        if num_buckets % directions or num_buckets < 2 * directions:
            raise ValueError(
                "`num_buckets` must be at least 2 for each direction, and "
                "even if `bidirectional`. Received: "
                f"num_buckets={num_buckets}, bidirectional={bidirectional}"
            )
        num_exact = num_buckets // directions // 2
        if max_distance <= num_exact:
            raise ValueError(
                "`max_distance` must be above the distances that have a bucket "
                f"of their own, which end at {num_exact}. Received: "
                f"max_distance={max_distance}, num_buckets={num_buckets}. "
                "Raise `max_distance` or lower `num_buckets`."
            )
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.bidirectional = bidirectional

    def build(self, query_shape, key_shape):
        self.table = self.add_float32_weight(
            "table",
            (self.num_buckets, query_shape[-2]),
            keras.initializers.TruncatedNormal(stddev=0.02),
        )

    def built_for(self):
        return {"heads": self.table.shape[1]}

    def parameters(self):
        # The cast makes a tensor of the variable.
        return (ops.cast(self.table, "float32"),)

    def bias(self, parameters, query_positions, key_positions):
        (table,) = parameters
        buckets = relative_buckets(
            query_positions,
            key_positions,
            num_buckets=self.num_buckets,
            max_distance=self.max_distance,
            bidirectional=self.bidirectional,
        )
        return ops.moveaxis(ops.take(table, buckets, axis=0), -1, 1)

    def get_config(self):
        return {
            **super().get_config(),
            "num_buckets": self.num_buckets,
            "max_distance": self.max_distance,
            "bidirectional": self.bidirectional,
        }
