"""What becomes of characters that no piece has."""

import tensorflow as tf


def fuse(pieces, starts):
    """Make one of unknown characters that stand side by side.

    Args:
        pieces: Ragged (batch, pieces) int64, negative if unknown.
        starts: (pieces,) booleans: where something starts that is not joined
            to what is before it.

    Returns:
        Ragged (batch, pieces), and ragged (runs, characters) int32: the code
        points of those that are unknown, in order.
    """
    unknown = pieces.values < 0
    follows = tf.concat([[False], unknown[:-1]], 0)[: tf.size(unknown)]
    keep = ~(unknown & follows & ~starts)
    places = tf.where(unknown)[:, 0]
    opens = tf.where(tf.gather(keep, places))[:, 0]
    runs = tf.RaggedTensor.from_row_starts(
        tf.cast(-1 - tf.gather(pieces.values, places), tf.int32),
        opens,
        validate=False,
    )
    return _keep(pieces, keep), runs


def to_bytes(pieces):
    """Write unknown characters as the bytes of their UTF-8.

    Args:
        pieces: Ragged (batch, pieces) int64, -1 - code point if unknown.

    Returns:
        Ragged (batch, pieces), -1 - byte for each byte.
    """
    codes = tf.maximum(-1 - pieces.values, 0)
    last, third, second = (
        -1 - (0x80 + codes // 64**place % 64) for place in range(3)
    )
    more = tf.cast(codes >= 0x80, tf.int64)
    more += tf.cast(codes >= 0x800, tf.int64)
    more += tf.cast(codes >= 0x10000, tf.int64)
    # What a first byte is marked with, by how many follow it.
    marks = tf.gather(_int64([0, 0xC0, 0xE0, 0xF0]), more)
    heads = marks + codes // tf.gather(_int64([1, 64, 64**2, 64**3]), more)
    heads = tf.where(pieces.values < 0, -1 - heads, pieces.values)
    all_bytes = tf.stack([heads, second, third, last], axis=1)
    # Of the last three only as many as follow.
    keep = tf.stack([more >= 0, more > 2, more > 1, more > 0], axis=1)
    wide = tf.RaggedTensor.from_row_splits(
        tf.reshape(all_bytes, [-1]), pieces.row_splits * 4, validate=False
    )
    return _keep(wide, tf.reshape(keep, [-1]))


def _keep(ragged, mask):
    ends = tf.cumsum(tf.cast(mask, tf.int64))
    ends = tf.concat([[0], ends], axis=0)
    return tf.RaggedTensor.from_row_splits(
        tf.boolean_mask(ragged.values, mask),
        tf.gather(ends, ragged.row_splits),
        validate=False,
    )


def _int64(numbers):
    return tf.constant(numbers, tf.int64)
