"""How well two orders agree."""

import keras
import tensorflow as tf

from keras_attn.base import argument_checks


@keras.saving.register_keras_serializable(package="keras_attn")
class SpearmanCorrelation(keras.metrics.Metric):
    """Spearman's correlation of ranks: one of STS-B's metrics.

        correlation = Σ (r - r̄)(s - s̄) / sqrt(Σ (r - r̄)² Σ (s - s̄)²)

    with the ranks r of what is true and s of what is predicted, equal numbers
    sharing the mean of their ranks. Ranks are known when all numbers are, so
    these are kept until the next reset.

    Args:
        max_examples: How many numbers there is room for, 20 bytes each.

    Call arguments:
        y_true, y_pred: (batch, 1) numbers.
        sample_weight: Must be None: a rank has no weight.

    Returns:
        A number from -1 to 1; 0 if one of the sides is constant, NaN if there
        were more than `max_examples`.

    Reference:
        Spearman 1904. https://doi.org/10.2307/1412159
    """

    def __init__(self, max_examples: int = 10_000, *, name: str = "spearman"):
        super().__init__(name=name)
        max_examples = argument_checks.integer(
            max_examples, "max_examples", at_least=2
        )
        self.max_examples = max_examples
        # One place more, for what there is no room for.
        self.true, self.predicted = (
            self.add_variable((max_examples + 1,), "zeros", dtype="float64")
            for _ in range(2)
        )
        self.taken = self.add_variable(
            (max_examples + 1,), "zeros", dtype="int32"
        )
        self.count = self.add_variable((), "zeros", dtype="int32")

    def update_state(self, y_true, y_pred, sample_weight=None):
        if sample_weight is not None:
            raise ValueError(
                "A rank has no weight. Received: sample_weight. Give the "
                "metric under `metrics`, not `weighted_metrics`, and leave "
                "examples that do not count out of the data."
            )
        y_true, y_pred = (
            tf.reshape(tf.cast(x, tf.float64), [-1]) for x in (y_true, y_pred)
        )
        start = tf.convert_to_tensor(self.count)
        places = start + tf.range(tf.size(y_true))
        # Replicas take turns, for their variables are summed. There are none
        # while Keras builds a model.
        context = tf.distribute.get_replica_context()
        if context is not None:
            places *= context.num_replicas_in_sync
            places += tf.cast(context.replica_id_in_sync_group, places.dtype)
        places = tf.minimum(places, self.max_examples)[:, None]
        ones = tf.ones_like(places[:, 0])
        for kept, given in (
            (self.true, y_true),
            (self.predicted, y_pred),
            (self.taken, ones),
        ):
            kept.assign(tf.tensor_scatter_nd_update(kept, places, given))
        self.count.assign(start + tf.size(y_true))

    def result(self):
        taken = tf.convert_to_tensor(self.taken)[:-1] > 0
        real = tf.concat([taken, [False]], axis=0)
        true, predicted = (
            _deviations(tf.convert_to_tensor(kept), real)
            for kept in (self.true, self.predicted)
        )
        shared = tf.reduce_sum(true * predicted)
        spread = tf.reduce_sum(true**2) * tf.reduce_sum(predicted**2)
        correlation = tf.math.divide_no_nan(shared, tf.sqrt(spread))
        number = tf.reduce_sum(tf.cast(taken, tf.int32))
        fits = tf.convert_to_tensor(self.count) == number
        nan = tf.constant(float("nan"), tf.float64)
        return tf.cast(tf.where(fits, correlation, nan), tf.float32)

    def get_config(self):
        return {"max_examples": self.max_examples, "name": self.name}


def _deviations(numbers, real):
    """Ranks of the real ones less their mean, 0 elsewhere."""
    infinity = tf.constant(float("inf"), numbers.dtype)
    ordered = tf.sort(tf.where(real, numbers, infinity))
    below = tf.searchsorted(ordered, numbers, side="left")
    up_to = tf.searchsorted(ordered, numbers, side="right")
    ranks = tf.cast(below + up_to + 1, numbers.dtype) / 2
    weights = tf.cast(real, numbers.dtype)
    mean = tf.math.divide_no_nan(
        tf.reduce_sum(ranks * weights), tf.reduce_sum(weights)
    )
    return (ranks - mean) * weights
