"""Tokens that would write a second time what has come before."""

import math

import tensorflow as tf


def forbid_repeats(scores, history, length, size: int):
    """Forbid each token that would repeat a run of `size` tokens.

        score[v] = -inf if (history[length - size + 1 : length], v) has come

    Args:
        scores: (rows, vocabulary) float32.
        history: (rows, columns) ids, in the order in which they came; what
            stands from `length` on is not read. Rows may begin with negative
            numbers, which are no tokens, and have at least `size` - 1 columns.
        length: How many columns of `history` have come, a scalar.
        size: How many tokens make a run, at least 1.

    Returns:
        (rows, vocabulary) scores.

    Reference:
        Paulus et al. 2018, section 2.5. https://arxiv.org/abs/1705.04304
    """
    before = size - 1
    prefix = tf.gather(history, length - before + tf.range(before), axis=1)
    last = history[:, before:]  # (rows, runs)
    starts = tf.shape(last)[1]
    repeats = tf.range(starts) + before < length
    repeats = tf.logical_and(last >= 0, repeats)
    for place in range(before):
        token = prefix[:, place : place + 1]
        same = history[:, place : place + starts] == token
        repeats &= tf.logical_and(same, token >= 0)
    rows = tf.zeros_like(last) + tf.range(tf.shape(last)[0])[:, None]
    places = tf.stack([rows, tf.maximum(last, 0)], axis=-1)
    counts = tf.scatter_nd(places, tf.cast(repeats, tf.int32), tf.shape(scores))
    return tf.where(counts > 0, -math.inf, scores)
