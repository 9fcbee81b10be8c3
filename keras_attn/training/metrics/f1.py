"""How well one class is found."""

import keras
import tensorflow as tf

from keras_attn.base import argument_checks


@keras.saving.register_keras_serializable(package="keras_attn")
class F1(keras.metrics.Metric):
    """F1 of one class: the metric of MRPC and QQP, beside accuracy.

        f1 = 2 TP / (2 TP + FP + FN)

    the harmonic mean of precision TP / (TP + FP) and recall TP / (TP + FN).
    `keras.metrics.F1Score` wants labels in one-hot form, and takes a class
    whose score is exactly 0 for none.

    Args:
        positive: The class that is to be found.

    Call arguments:
        y_true: (batch,) or (batch, 1) integers.
        y_pred: (batch, classes) logits or probabilities.
        sample_weight: (batch,), what each example counts.

    Returns:
        A number from 0 to 1; 0 where the class neither is nor is predicted.

    Reference:
        Sokolova and Lapalme 2009, table 2.
        https://doi.org/10.1016/j.ipm.2009.03.002
    """

    def __init__(self, positive: int = 1, *, name: str = "f1"):
        super().__init__(name=name)
        argument_checks.integer(positive, "positive", at_least=0)
        self.positive = positive
        # Of the class, predicted as the class, and both; float32 cannot count
        # past 16,777,216.
        self.counts = self.add_variable((3,), "zeros", dtype="float64")

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_pred = tf.convert_to_tensor(y_pred)
        if y_pred.shape.rank != 2 or y_pred.shape[-1] <= self.positive:
            raise ValueError(
                "`y_pred` must be (batch, classes), a score for each class, "
                f"of which {self.positive} is one. Received: "
                f"y_pred.shape={tuple(y_pred.shape)}"
            )
        is_true = tf.reshape(tf.cast(y_true, tf.int64), [-1]) == self.positive
        is_found = tf.argmax(y_pred, axis=-1) == self.positive
        counted = tf.stack([is_true, is_found, is_true & is_found])
        counted = tf.cast(counted, tf.float64)  # (count, batch)
        if sample_weight is not None:
            counted *= tf.reshape(tf.cast(sample_weight, tf.float64), [-1])
        self.counts.assign_add(tf.reduce_sum(counted, axis=1))

    def result(self):
        true, found, both = tf.unstack(tf.convert_to_tensor(self.counts))
        # 2 TP + FP + FN
        f1 = tf.math.divide_no_nan(2 * both, true + found)
        return tf.cast(f1, tf.float32)

    def get_config(self):
        return {"positive": self.positive, "name": self.name}
