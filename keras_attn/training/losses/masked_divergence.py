"""How far predicted classes are from a distribution, where there is one."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="keras_attn")
class MaskedDivergence(keras.losses.Loss):
    """Mean divergence from the classes that a teacher saw, such as a detector.

        loss(i) = Σ p(i) log(p(i) / softmax(logits(i)))       over the classes
        output  = Σ weight · loss(i) / Σ weight     over positions with a target

    With it `ViLBERT` learns to tell what stands in regions that were hidden. A
    position whose target is all zeros has none, and what stands there, NaN
    included, changes neither the loss nor its gradient. It is computed in
    float32, whatever the logits' precision.

    Call arguments:
        y_true: (batch, regions, classes), each row of classes a distribution,
            or zeros.
        y_pred: (batch, regions, classes) logits.
        sample_weight: (batch,) or (batch, regions).

    Returns:
        A number; 0 if nothing has a target, with zero gradients.

    Reference:
        Lu et al. 2019, section 2.2. https://arxiv.org/abs/1908.02265
    """

    def __init__(self, *, name: str = "masked_divergence"):
        super().__init__(name=name)

    def __call__(self, y_true, y_pred, sample_weight=None):
        # Keras' own would divide by all positions.
        losses, weights = self._divergences(y_true, y_pred, sample_weight)
        total = tf.reduce_sum(weights * losses)
        mean = tf.math.divide_no_nan(total, tf.reduce_sum(weights))
        # Gradients are summed over replicas.
        return mean / tf.distribute.get_strategy().num_replicas_in_sync

    def weight_sum(self, y_true, y_pred, sample_weight=None):
        """What the mean divides by, for a `fit` on several replicas."""
        _, weights = self._divergences(y_true, y_pred, sample_weight)
        return tf.reduce_sum(weights)

    def call(self, y_true, y_pred):
        losses, weights = self._divergences(y_true, y_pred)
        return losses * weights

    def get_config(self):
        return {"name": self.name}

    def _divergences(self, y_true, y_pred, sample_weight=None):
        """The loss of each position, and how much it counts."""
        target = tf.convert_to_tensor(y_true)
        logits = tf.convert_to_tensor(y_pred)
        if not target.shape.is_compatible_with(logits.shape):
            raise ValueError(
                "Targets and logits must have the same shape, (batch, regions, "
                f"classes). Received: targets {tuple(target.shape)}, logits "
                f"{tuple(logits.shape)}"
            )
        dtype = tf.float64 if logits.dtype == tf.float64 else tf.float32
        logits, target = tf.cast(logits, dtype), tf.cast(target, dtype)
        counts = tf.reduce_any(target != 0, axis=-1)
        # Selected before anything is computed: 0 · NaN is NaN.
        logits = tf.where(counts[..., None], logits, tf.zeros_like(logits))
        # xlogy(0, 0) is 0, as the limit of p log p.
        own = tf.math.xlogy(target, target)
        other = target * tf.nn.log_softmax(logits)
        weights = tf.cast(counts, dtype)
        if sample_weight is not None:
            given = tf.cast(sample_weight, dtype)
            missing = weights.shape.rank - given.shape.rank
            given = given[(..., *[None] * missing)]
            weights = tf.where(counts, given * weights, 0.0)
        return tf.reduce_sum(own - other, axis=-1), weights
