"""Cut tensors into tiles along their lengths, and put them together again."""

import tensorflow as tf


def length_of(x, axis: int):
    """Length of an axis: an integer where it is known, else a tensor."""
    known = x.shape[axis]
    return tf.shape(x)[axis] if known is None else known


def tile_count(length, tile: int):
    """Return how many tiles of about equal size cover `length`, and the size.

    Equal sizes waste less than full tiles and a remainder: 520 is cut into
    2 × 260, not into 512 + 8 and 504 places of padding.
    """
    count = -(-length // tile)
    if isinstance(length, int):
        return count, -(-length // max(count, 1))
    return count, -(-length // tf.maximum(count, 1))


def split_heads(x, count, size):
    """Turn (batch, length, heads, depth) into tiles, padded with zeros.

    Returns:
        (count, batch, heads, size, depth).
    """
    x = _pad(x, 1, count * size)
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


def split_positions(positions, count, size):
    """Turn (batch or 1, length) into (count, batch or 1, size).

    The last position is repeated, so that padding does not widen a tile.
    """
    last = length_of(positions, 1) - 1
    places = tf.minimum(tf.range(count * size), last)
    positions = tf.gather(positions, places, axis=1)
    positions = tf.reshape(positions, [length_of(positions, 0), count, size])
    return tf.transpose(positions, [1, 0, 2])


def split_grid(x, query_length, query_tiles, key_length, key_tiles):
    """Cut what broadcasts to (batch, heads, query, key) along both lengths.

    An axis of length 1 stays whole: it is one tile that serves them all.

    Returns:
        (query count or 1, key count or 1, batch, heads, query, key), of which
        the last two are a tile.
    """
    x = _spread(x, 2, query_length)
    x = _spread(x, 3, key_length)
    rows, height = (1, 1) if x.shape[2] == 1 else query_tiles
    columns, width = (1, 1) if x.shape[3] == 1 else key_tiles
    x = _pad(_pad(x, 2, rows * height), 3, columns * width)
    batch, heads = length_of(x, 0), length_of(x, 1)
    x = tf.reshape(x, [batch, heads, rows, height, columns, width])
    return tf.transpose(x, [2, 4, 0, 1, 3, 5])


def join_grid(tiles, like):
    """Undo `split_grid` for something of the shape of `like`."""
    x = tf.transpose(tiles, [2, 3, 0, 4, 1, 5])
    shape = tf.shape(x)
    x = tf.reshape(
        x, [shape[0], shape[1], shape[2] * shape[3], shape[4] * shape[5]]
    )
    x = x[:, :, : length_of(like, 2), : length_of(like, 3)]
    x.set_shape(like.shape)
    return x


def pick_grid(tiles, row, column):
    """Take the tile at (row, column) of a grid that may be 1 wide or high."""
    if tiles is None:
        return None
    return tiles[grid_place(tiles, row, column)]


def grid_place(tiles, row, column):
    """Return where the tile for (row, column) stands in the grid."""
    return (
        0 if tiles.shape[0] == 1 else row,
        0 if tiles.shape[1] == 1 else column,
    )


def visible_ranges(query_positions, key_positions, *, causal, window):
    """For each tile, from which to which tile of the other kind it can see.

    Args:
        query_positions: (query count, batch or 1, query) integers.
        key_positions: (key count, batch or 1, key) integers.
        causal, window: As for `masks.by_position`.

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
    return _span(seen), _span(tf.transpose(seen))


def _span(seen):
    """First and one past the last True of each row; equal if there is none."""
    places = tf.range(tf.shape(seen)[1])
    stop = tf.reduce_max(tf.where(seen, places + 1, 0), axis=1)
    start = tf.reduce_min(tf.where(seen, places, tf.shape(seen)[1]), axis=1)
    return tf.minimum(start, stop), stop


def _pad(x, axis, length):
    """Append zeros (False) to an axis."""
    missing = length - length_of(x, axis)
    if isinstance(missing, int) and missing == 0:
        return x
    paddings = [[0, 0] for _ in x.shape]
    paddings[axis][1] = missing
    return tf.pad(x, paddings)


def _spread(x, axis, length):
    """Broadcast an axis to `length` unless it is known to be 1 or that."""
    known = x.shape[axis]
    if known == 1 or (isinstance(length, int) and known == length):
        return x
    shape = [length_of(x, i) for i in range(4)]
    shape[axis] = length
    return tf.broadcast_to(x, shape)
