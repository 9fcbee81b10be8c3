"""The mean of a number over all real tokens."""

import keras
import tensorflow as tf

from keras_attn.training import tokens


class TokenMean(keras.metrics.Metric):
    """A mean over real labels, whatever their batches.

        mean = Σ weight · value(label, logits) / Σ weight

    over all real labels since the last reset, so a batch counts by the number
    of its real labels. A subclass says in `values` what is averaged.

    Args:
        pad_id: The label that never counts; None if every label does.
        name: Of the metric.
    """

    def __init__(self, pad_id: int | None = 0, *, name: str):
        super().__init__(name=name)
        tokens.check_pad_id(pad_id)
        self.pad_id = pad_id
        # float32 cannot count single tokens past 16,777,216.
        self.total = self.add_variable((), "zeros", dtype="float64")
        self.count = self.add_variable((), "zeros", dtype="float64")

    def values(self, labels, logits, weights):
        """What is averaged, (labels,), for (labels, vocabulary) logits."""
        raise NotImplementedError

    def update_state(self, y_true, y_pred, sample_weight=None):
        labels, logits, weights = tokens.read_tokens(
            y_true, y_pred, sample_weight, pad_id=self.pad_id
        )
        total = tf.reduce_sum(weights * self.values(labels, logits, weights))
        self.total.assign_add(tf.cast(total, "float64"))
        self.count.assign_add(tf.cast(tf.reduce_sum(weights), "float64"))

    def result(self):
        mean = tf.math.divide_no_nan(self.total.value, self.count.value)
        return tf.cast(mean, "float32")

    def get_config(self):
        return {"pad_id": self.pad_id, "name": self.name}
