"""Perplexity: the exponential of the mean cross-entropy."""

import keras
import tensorflow as tf

from keras_attn.training import tokens
from keras_attn.training.losses.token_losses import token_losses


@keras.saving.register_keras_serializable(package="keras_attn")
class Perplexity(keras.metrics.Metric):
    """The exponential of the mean cross-entropy over real labels.

        loss(label) = -log softmax(logits)[label]
        perplexity  = exp(Σ weight · loss(label) / Σ weight)

    over all real labels since the last reset: not the mean of the batches'
    perplexities, which is greater. A model that gives every token the same
    probability has the size of its vocabulary. Labels are never smoothed
    here, so it can be compared between ways of training; the exponential of a
    smoothed loss cannot. A label is real if it is not `pad_id` and the
    logits' Keras mask, if they carry one, does not hide it.

    Args:
        pad_id: The label that never counts; None if every label does.

    Call arguments:
        y_true: (batch, length) integers.
        y_pred: (batch, length, vocabulary) logits.
        sample_weight: (batch,) or (batch, length). 0 leaves a label out.

    Returns:
        A number, at least 1; 0 before the first real label.

    Reference:
        Jelinek et al. 1977. https://doi.org/10.1121/1.2016299
    """

    def __init__(self, pad_id: int | None = 0, *, name: str = "perplexity"):
        super().__init__(name=name)
        tokens.check_pad_id(pad_id)
        self.pad_id = pad_id
        # float32 cannot count single tokens past 16,777,216.
        self.total = self.add_variable((), "zeros", dtype="float64")
        self.count = self.add_variable((), "zeros", dtype="float64")

    def update_state(self, y_true, y_pred, sample_weight=None):
        labels, logits, weights = tokens.read_tokens(
            y_true, y_pred, sample_weight, pad_id=self.pad_id
        )
        losses = weights * token_losses(labels, logits, weights)
        self.total.assign_add(tf.cast(tf.reduce_sum(losses), "float64"))
        self.count.assign_add(tf.cast(tf.reduce_sum(weights), "float64"))

    def result(self):
        total, count = self.total.value, self.count.value
        perplexity = tf.exp(tf.math.divide_no_nan(total, count))
        return tf.cast(
            tf.where(count > 0, perplexity, tf.zeros_like(count)), "float32"
        )

    def get_config(self):
        return {"pad_id": self.pad_id, "name": self.name}
