"""Which tokens of a row are its answer."""

import tensorflow as tf


def answer_mask(tokens, end_id: int, limits=None):
    """Tell an answer from what its row is filled up with.

    Args:
        tokens: (..., length) ids.
        end_id: Ends an answer, as the last token of it.
        limits: (..., 1) integers, the most tokens of an answer.

    Returns:
        (..., length) booleans.
    """
    ends = tf.cast(tokens == end_id, tf.int32)
    mask = tf.cumsum(ends, axis=-1, exclusive=True) == 0
    if limits is not None:
        mask &= tf.range(tf.shape(tokens)[-1]) < limits
    return mask
