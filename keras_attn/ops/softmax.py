"""Softmax that respects a mask."""

import keras
import tensorflow as tf
from keras import ops

# Far below any real score, and finite so that gradients stay finite.
EXCLUDED = -1e30


def exclusion(mask, dtype):
    """What to add to scores so that no softmax notices the masked ones.

    Added, not selected: a gradient goes back through an addition as it is,
    where a selection takes another pass over the scores.

    Args:
        mask: Booleans, True where scores count.
        dtype: Of the scores, float32 or wider.

    Returns:
        Like `mask`, of floats.
    """
    zero = ops.zeros((), dtype)
    return ops.where(mask, zero, ops.cast(EXCLUDED, dtype))


def lowest_logit(dtype):
    """A finite logit that no softmax notices beside real ones."""
    # float16 would make the usual one infinite.
    half = keras.backend.standardize_dtype(dtype) == "float16"
    return ops.cast(-65504.0 if half else EXCLUDED, dtype)


def masked_softmax(scores, mask=None, sinks=None):
    """Softmax over the last axis, giving nothing to masked positions.

        weight(k) = exp(score(k)) / (exp(sink) + Σ exp(score(j)))

    without `sinks` the first term of the denominator is missing. A row with
    no allowed position comes out as zeros, not as a uniform guess.

    Args:
        scores: (..., key) floats of any precision.
        mask: Booleans broadcastable to `scores`; True means "may be seen".
        sinks: Broadcastable to (..., 1): a score that takes its share of the
            weight and attends to nothing.

    Returns:
        (..., key) weights in the dtype of `scores`.
    """
    # float16 tops out at 65504 and sums badly over long rows.
    dtype = "float64" if scores.dtype == "float64" else "float32"
    logits = ops.cast(scores, dtype)
    if mask is not None:
        mask = ops.convert_to_tensor(mask, "bool")
        logits += exclusion(mask, dtype)
    # Not `ops.softmax`: it warns about a single key, where 1 is right.
    if sinks is None:
        weights = tf.nn.softmax(logits, axis=-1)
    else:
        sinks = ops.broadcast_to(
            ops.cast(sinks, dtype), (*ops.shape(logits)[:-1], 1)
        )
        logits = ops.concatenate([logits, sinks], axis=-1)
        weights = tf.nn.softmax(logits, axis=-1)[..., :-1]
        return ops.cast(weights, scores.dtype)
    if mask is not None:
        # With everything hidden, all scores are equally low.
        seen = ops.any(mask, axis=-1, keepdims=True)
        weights = weights * ops.cast(seen, dtype)
    return ops.cast(weights, scores.dtype)
