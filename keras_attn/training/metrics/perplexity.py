"""Perplexity: the exponential of the mean cross-entropy."""

import keras
import tensorflow as tf

from keras_attn.training.losses.token_losses import token_losses
from keras_attn.training.metrics.token_mean import TokenMean


@keras.saving.register_keras_serializable(package="keras_attn")
class Perplexity(TokenMean):
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
        super().__init__(pad_id, name=name)

    def values(self, labels, logits, weights):
        return token_losses(labels, logits, weights)

    def result(self):
        total, count = self.total.value, self.count.value
        perplexity = tf.exp(tf.math.divide_no_nan(total, count))
        return tf.cast(
            tf.where(count > 0, perplexity, tf.zeros_like(count)), "float32"
        )
