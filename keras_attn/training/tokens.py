"""Labels, logits, and how much each label counts."""

import tensorflow as tf

from keras_attn.base import argument_checks


def check_pad_id(pad_id: int | None) -> None:
    """Raise unless `pad_id` is an integer or None."""
    if pad_id is None:
        return
    reason = "or None where every label counts"
    argument_checks.integer(pad_id, "pad_id", reason=reason)


def read_tokens(y_true, y_pred, sample_weight=None, *, pad_id: int | None):
    """Say how much each label counts.

        weight = sample weight · [label ≠ pad_id] · [not masked]

    where masked is what the Keras mask of `y_pred`, if it has one, hides.

    Args:
        y_true: (batch, length) ids.
        y_pred: (batch, length, vocabulary) logits.
        sample_weight: None, or numbers for each row, (batch,), or for each
            label, (batch, length).
        pad_id: The label that is padding, or None for no such label.

    Returns:
        (batch, length) labels, 0 where they do not count; (batch, length,
        vocabulary) logits; (batch, length) weights, in float32 or, for
        float64 logits, in float64.
    """
    mask = getattr(y_pred, "_keras_mask", None)
    labels = tf.convert_to_tensor(y_true)
    logits = tf.convert_to_tensor(y_pred)
    _check_shapes(labels, logits)
    # Under a strategy, Keras tries the first batch with averages of ids.
    labels = tf.cast(labels, tf.int32)

    counts = tf.ones_like(labels, tf.bool)
    if pad_id is not None:
        counts = labels != pad_id
    if mask is not None:
        counts &= tf.cast(mask, tf.bool)

    dtype = tf.float64 if logits.dtype == tf.float64 else tf.float32
    weights = tf.cast(counts, dtype)
    if sample_weight is not None:
        given = _spread(tf.cast(sample_weight, dtype), labels)
        # Not a product: what the caller gave to padding may be NaN.
        weights = tf.where(counts, given, tf.zeros_like(given))
    # Padding may be an id outside of the vocabulary.
    labels = tf.where(weights != 0, labels, tf.zeros_like(labels))
    return labels, logits, weights


def _check_shapes(labels, logits):
    if not labels.shape.is_compatible_with(logits.shape[:-1]):
        raise ValueError(
            "Labels and logits must have the same shape but for the logits' "
            "last axis, the vocabulary. Received: labels of shape "
            f"{tuple(labels.shape)}, logits of shape {tuple(logits.shape)}"
        )


def _spread(sample_weight, labels):
    """Give each label the weight of its row."""
    missing = labels.shape.rank - sample_weight.shape.rank
    if missing < 0:
        raise ValueError(
            "`sample_weight` must have one number for each row or for each "
            f"label. Received: sample_weight of shape "
            f"{tuple(sample_weight.shape)}, labels of shape "
            f"{tuple(labels.shape)}"
        )
    for _ in range(missing):
        sample_weight = sample_weight[..., None]
    return tf.broadcast_to(sample_weight, tf.shape(labels))
