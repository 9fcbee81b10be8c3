"""The share of real labels that the model finds."""

import keras
import tensorflow as tf

from keras_attn.training.metrics.token_mean import TokenMean


@keras.saving.register_keras_serializable(package="keras_attn")
class MaskedAccuracy(TokenMean):
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
        super().__init__(pad_id, name=name)

    def values(self, labels, logits, weights):
        found = tf.argmax(logits, axis=-1, output_type=labels.dtype)
        return tf.cast(found == labels, weights.dtype)
