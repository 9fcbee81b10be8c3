"""How well classes agree, whatever their sizes."""

import keras
import tensorflow as tf

from keras_attn.base import argument_checks


@keras.saving.register_keras_serializable(package="keras_attn")
class MatthewsCorrelation(keras.metrics.Metric):
    """Matthews' correlation of true and predicted classes: CoLA's metric.

        mcc = (TP TN - FP FN) / sqrt((TP + FP)(TP + FN)(TN + FP)(TN + FN))
            = (s c - Σ p(k) t(k)) / sqrt((s² - Σ p(k)²)(s² - Σ t(k)²))

    with s examples, c of them right, p(k) predicted as class k and t(k) in it:
    the first for two classes, the second for any number. A model that always
    says the same gets 0, however frequent that class is. Examples count, not
    batches.

    Args:
        num_classes: How many there are.

    Call arguments:
        y_true: (batch,) or (batch, 1) integers.
        y_pred: (batch, classes) logits or probabilities.
        sample_weight: (batch,), what each example counts.

    Returns:
        A number from -1 to 1; 0 where one of the sides has one class only.

    Reference:
        Gorodkin 2004, equation 8.
        https://doi.org/10.1016/j.compbiolchem.2004.09.006
    """

    def __init__(self, num_classes: int = 2, *, name: str = "matthews"):
        super().__init__(name=name)
        num_classes = argument_checks.integer(
            num_classes, "num_classes", at_least=2
        )
        self.num_classes = num_classes
        # (true, predicted); float32 cannot count past 16,777,216.
        self.confusion = self.add_variable(
            (num_classes, num_classes), "zeros", dtype="float64"
        )

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_pred = tf.convert_to_tensor(y_pred)
        if y_pred.shape.rank != 2 or y_pred.shape[-1] != self.num_classes:
            raise ValueError(
                f"`y_pred` must be (batch, {self.num_classes}), a score for "
                f"each class. Received: y_pred.shape={tuple(y_pred.shape)}"
            )
        true = tf.one_hot(
            tf.reshape(tf.cast(y_true, tf.int32), [-1]),
            self.num_classes,
            dtype=tf.float64,
        )
        found = tf.one_hot(
            tf.argmax(y_pred, axis=-1), self.num_classes, dtype=tf.float64
        )
        if sample_weight is not None:
            weight = tf.reshape(tf.cast(sample_weight, tf.float64), [-1, 1])
            true *= weight
        self.confusion.assign_add(tf.matmul(true, found, transpose_a=True))

    def result(self):
        counts = tf.convert_to_tensor(self.confusion)
        in_class = tf.reduce_sum(counts, axis=1)  # t
        predicted = tf.reduce_sum(counts, axis=0)  # p
        number, right = tf.reduce_sum(counts), tf.linalg.trace(counts)
        shared = number * right - tf.reduce_sum(predicted * in_class)
        spread = (number**2 - tf.reduce_sum(predicted**2)) * (
            number**2 - tf.reduce_sum(in_class**2)
        )
        correlation = tf.math.divide_no_nan(shared, tf.sqrt(spread))
        return tf.cast(correlation, tf.float32)

    def get_config(self):
        return {"num_classes": self.num_classes, "name": self.name}
