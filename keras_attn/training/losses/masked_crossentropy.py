"""Cross-entropy of the labels that are not padding."""

import keras
import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.training import tokens
from keras_attn.training.losses.token_losses import token_losses


@keras.saving.register_keras_serializable(package="keras_attn")
class MaskedCrossentropy(keras.losses.Loss):
    """Mean cross-entropy over real labels, smoothed if asked for.

        target = (1 - ε) onehot(label) + ε / vocabulary
        loss(label) = -Σ target · log softmax(logits)     over the vocabulary
                    = logsumexp(logits) - (1 - ε) logits[label] - ε mean(logits)
        output = Σ weight · loss(label) / Σ weight        over real labels

    A label is real if it is not `pad_id` and the logits' Keras mask, if they
    carry one, does not hide it. What stands elsewhere, NaN included, changes
    neither the loss nor its gradient. It is computed in float32, whatever the

    Args:
        pad_id: The label that never counts; None if every label does.
        label_smoothing: ε, spread over the whole vocabulary, the label too.

    Call arguments:
        y_true: (batch, length) integers.
        y_pred: (batch, length, vocabulary) logits.
        sample_weight: (batch,) or (batch, length). 0 leaves a label out.

    Returns:
        A number; 0 if no label is real, with zero gradients.

    Reference:
        Szegedy et al. 2016, section 7. https://arxiv.org/abs/1512.00567
        Vaswani et al. 2017, section 5.4. https://arxiv.org/abs/1706.03762
    """

    def __init__(
        self,
        pad_id: int | None = 0,
        *,
        label_smoothing: float = 0.0,
        name: str = "masked_crossentropy",
    ):
        super().__init__(name=name)
        tokens.check_pad_id(pad_id)
        argument_checks.rate(label_smoothing, "label_smoothing")
        self.pad_id = pad_id
        self.label_smoothing = label_smoothing

    def __call__(self, y_true, y_pred, sample_weight=None):
        # Keras' own would turn ids into floats, and divide by all positions.
        labels, logits, weights = tokens.read_tokens(
            y_true, y_pred, sample_weight, pad_id=self.pad_id
        )
        losses = token_losses(
            labels, logits, weights, smoothing=self.label_smoothing
        )
        total = tf.reduce_sum(weights * losses)
        mean = tf.math.divide_no_nan(total, tf.reduce_sum(weights))
        # Gradients are summed over replicas.
        replicas = tf.distribute.get_strategy().num_replicas_in_sync
        return mean / replicas

    def weight_sum(self, y_true, y_pred, sample_weight=None):
        """What the mean divides by, for a `fit` on several replicas."""
        _, _, weights = tokens.read_tokens(
            y_true, y_pred, sample_weight, pad_id=self.pad_id
        )
        return tf.reduce_sum(weights)

    def call(self, y_true, y_pred):
        labels, logits, weights = tokens.read_tokens(
            y_true, y_pred, pad_id=self.pad_id
        )
        return token_losses(
            labels, logits, weights, smoothing=self.label_smoothing
        )

    def get_config(self):
        return {
            "pad_id": self.pad_id,
            "label_smoothing": self.label_smoothing,
            "name": self.name,
        }
