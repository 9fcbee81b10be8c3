"""Which tokens of a row are its answer."""

from collections.abc import Sequence

import tensorflow as tf


def is_end(tokens, end_ids: Sequence[int]):
    """Tell which tokens end an answer: booleans like `tokens`."""
    ends = tokens == end_ids[0]
    for end_id in end_ids[1:]:
        ends = tf.logical_or(ends, tokens == end_id)
    return ends


def answer_mask(tokens, end_id: int | Sequence[int], limits=None):
    """Tell an answer from what its row is filled up with.

    Args:
        tokens: (..., length) ids.
        end_id: Ends an answer, as the last token of it; or several that do.
        limits: (..., 1) integers, the most tokens of an answer.

    Returns:
        (..., length) booleans.
    """
    end_ids = [end_id] if isinstance(end_id, int) else end_id
    ends = tf.cast(is_end(tokens, end_ids), tf.int32)
    mask = tf.cumsum(ends, axis=-1, exclusive=True) == 0
    if limits is not None:
        mask &= tf.range(tf.shape(tokens)[-1]) < limits
    return mask
