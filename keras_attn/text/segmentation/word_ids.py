"""Words to ids: known words by a table, each other one cut once."""

from collections.abc import Callable

import tensorflow as tf


def word_ids(words, find: Callable, cut: Callable):
    """Ids of words, of which most are known and many are repeated.

    Args:
        words: Ragged (batch, words) strings.
        find: (words,) strings to int64 ids, -1 where a word is not known.
        cut: (words,) distinct strings to ragged (words, tokens) int64 ids.

    Returns:
        Ragged (batch, tokens) int32 ids.
    """
    ids = find(words.values)
    missing = tf.where(ids < 0)
    rest, rest_row = tf.unique(tf.gather_nd(words.values, missing))
    pieces = cut(rest)
    # Rows of one id for all words, then the rows of the rest.
    num_words = tf.size(ids, tf.int64)
    rows = tf.RaggedTensor.from_row_splits(
        tf.concat([ids, pieces.values], 0),
        tf.concat([tf.range(num_words), pieces.row_splits + num_words], 0),
        validate=False,
    )
    row = tf.tensor_scatter_nd_update(
        tf.range(num_words),
        missing,
        tf.cast(rest_row, tf.int64) + num_words,
    )
    ids = tf.gather(rows, row)
    return tf.RaggedTensor.from_row_splits(
        tf.cast(ids.values, tf.int32),
        tf.gather(ids.row_splits, words.row_splits),
        validate=False,
    )
