"""The share of real labels that the model finds."""

import keras
import tensorflow as tf

from keras_attn.training import tokens


@keras.saving.register_keras_serializable(package="keras_attn")
class MaskedAccuracy(keras.metrics.Metric):
    """The share of right tokens among real ones.

        accuracy = Σ weight · [argmax(logits) = label] / Σ weight

    over all real labels since the last reset, so a batch counts by the number
    of its real labels. A label is real if it is not `pad_id` and the logits'
    Keras mask, if they carry one, does not hide it.

    Args:
        pad_id: The label that never counts; None if every label does.

    Call arguments:
        y_true: (batch, length) integers.
        y_pred: (batch, length, vocabulary) logits.
        sample_weight: (batch,) or (batch, length). 0 leaves a label out.

    Returns:
        A number from 0 to 1; 0 before the first real label.

    Reference:
        Manning & Schütze 1999, section 8.1. https://nlp.stanford.edu/fsnlp/
    """

    def __init__(
        self, pad_id: int | None = 0, *, name: str = "masked_accuracy"
    ):
        super().__init__(name=name)
        tokens.check_pad_id(pad_id)
        self.pad_id = pad_id
        # float32 cannot count single tokens past 16,777,216.
        self.right = self.add_variable((), "zeros", dtype="float64")
        self.count = self.add_variable((), "zeros", dtype="float64")

    def update_state(self, y_true, y_pred, sample_weight=None):
        labels, logits, weights = tokens.read_tokens(
            y_true, y_pred, sample_weight, pad_id=self.pad_id
        )
        found = tf.argmax(logits, axis=-1, output_type=labels.dtype)
        right = weights * tf.cast(found == labels, weights.dtype)
        self.right.assign_add(tf.cast(tf.reduce_sum(right), "float64"))
        self.count.assign_add(tf.cast(tf.reduce_sum(weights), "float64"))

    def result(self):
        share = tf.math.divide_no_nan(self.right.value, self.count.value)
        return tf.cast(share, "float32")

    def get_config(self):
        return {"pad_id": self.pad_id, "name": self.name}
