"""Cut tensors into tiles along their lengths, and put them together again."""

import tensorflow as tf


def length_of(x, axis: int):
    """Length of an axis: an integer where it is known, else a tensor."""
    known = x.shape[axis]
    return tf.shape(x)[axis] if known is None else known


def tile_count(length, tile: int):
    """Return how many tiles of about equal size cover `length`, and the size.

    Equal sizes waste less than full tiles and a remainder: 520 is cut into
    2 × 260, not into 512 + 8 and 504 places of padding. Nothing is cut into
    one tile of padding, so that loops over tiles have something to go by.
    """
    at_least_one = max if isinstance(length, int) else tf.maximum
    count = at_least_one(-(-length // tile), 1)
    return count, at_least_one(-(-length // count), 1)


def split_heads(x, count, size):
    """Turn (batch, length, heads, depth) into tiles, padded with zeros.

    Returns:
        (count, batch, heads, size, depth).
    """
    x = pad_axis(x, 1, count * size)
    batch, _, heads, depth = (length_of(x, axis) for axis in range(4))
    x = tf.reshape(x, [batch, count, size, heads, depth])
    return tf.transpose(x, [1, 0, 3, 2, 4])


def join_heads(tiles, length):
    """Turn (count, batch, heads, size, depth) tiles back; undo the padding.

    Returns:
        (batch, length, heads, depth).
    """
    count, batch, heads, size, depth = (length_of(tiles, i) for i in range(5))
    x = tf.transpose(tiles, [1, 0, 3, 2, 4])
    x = tf.reshape(x, [batch, count * size, heads, depth])
    return x[:, :length]


def pad_axis(x, axis: int, length):
    """Append zeros (or False) to an axis, up to `length`."""
    missing = length - length_of(x, axis)
    if isinstance(missing, int) and missing == 0:
        return x
    paddings = [[0, 0] for _ in x.shape]
    paddings[axis][1] = missing
    return tf.pad(x, paddings)


def split_positions(positions, count, size):
    """Turn (batch or 1, length) into (count, batch or 1, size).

    The last position is repeated, so that padding does not widen a tile.
    """
    last = tf.maximum(length_of(positions, 1) - 1, 0)
    places = tf.minimum(tf.range(count * size), last)
    # One more place, for when there is none at all.
    positions = tf.gather(tf.pad(positions, [[0, 0], [0, 1]]), places, axis=1)
    positions = tf.reshape(positions, [length_of(positions, 0), count, size])
    return tf.transpose(positions, [1, 0, 2])


def visible_ranges(
    query_positions, key_positions, *, causal, window, segments=None
):
    """For each tile, from which to which tile of the other kind it can see.

    Args:
        query_positions: (query count, batch or 1, query) integers.
        key_positions: (key count, batch or 1, key) integers.
        causal, window: As for `masks.by_position`.
        segments: Of queries and of keys, like the positions, or None.

    Returns:
        Two pairs (first, past the last): of key tiles for each query tile,
        each (query count,), and of query tiles for each key tile.
    """
    axes = [1, 2]
    nearest = tf.reduce_min(query_positions, axes)[:, None]
    farthest = tf.reduce_max(query_positions, axes)[:, None]
    first = tf.reduce_min(key_positions, axes)[None]
    last = tf.reduce_max(key_positions, axes)[None]
    seen = tf.ones_like(nearest + first, tf.bool)  # (query count, key count)
    if causal:
        seen &= first <= farthest
    if window is not None:
        seen &= last > nearest - window
        if not causal:
            seen &= first < farthest + window
    if segments is not None:
        seen &= _may_share(*segments)
    return _span(seen), _span(tf.transpose(seen))


def _may_share(query_segments, key_segments):
    """Which tiles may have a segment in common: their ranges overlap.

    Returns:
        (query count, key count) booleans, for the rows of a batch together.
    """
    (low, high), (first, last) = map(_extent, (query_segments, key_segments))
    overlap = (low[:, None] <= last[None]) & (first[None] <= high[:, None])
    return tf.reduce_any(overlap, axis=-1)


def _extent(segments):
    """Lowest and highest segment of each tile, (count, batch), but padding."""
    real = tf.where(segments == 0, segments.dtype.max, segments)
    return tf.reduce_min(real, axis=-1), tf.reduce_max(segments, axis=-1)


def _span(seen):
    """First and one past the last True of each row; equal if there is none."""
    places = tf.range(tf.shape(seen)[1])
    stop = tf.reduce_max(tf.where(seen, places + 1, 0), axis=1)
    start = tf.reduce_min(tf.where(seen, places, tf.shape(seen)[1]), axis=1)
    return tf.minimum(start, stop), stop
