"""Cut a mask or a bias into tiles along the queries and along the keys."""

import dataclasses

import tensorflow as tf

from keras_attn.ops.tiling.tiles import length_of
from keras_attn.ops.tiling.tiles import pad_axis


@dataclasses.dataclass(frozen=True)
class Grid:
    """Tiles of what broadcasts to (batch, heads, query, key).

    An axis of length 1 is not cut: one tile serves all rows, or all columns.
    """

    tiles: object  # (rows · columns, batch or 1, heads or 1, query, key)
    rows: object
    columns: object

    @classmethod
    def cut(cls, x, query_length, query_tiles, key_length, key_tiles):
        """Cut `x`, padded with zeros or False.

        Args:
            x: (batch or 1, heads or 1, query or 1, key or 1).
            query_length, key_length: What the last two axes stand for.
            query_tiles, key_tiles: How many tiles, and how long each is.
        """
        x = _spread(_spread(x, 2, query_length), 3, key_length)
        rows, height = (1, 1) if x.shape[2] == 1 else query_tiles
        columns, width = (1, 1) if x.shape[3] == 1 else key_tiles
        x = pad_axis(pad_axis(x, 2, rows * height), 3, columns * width)
        batch, heads = length_of(x, 0), length_of(x, 1)
        x = tf.reshape(x, [batch, heads, rows, height, columns, width])
        x = tf.transpose(x, [2, 4, 0, 1, 3, 5])
        x = tf.reshape(x, [rows * columns, batch, heads, height, width])
        return cls(x, rows, columns)

    def number(self, row, column):
        """Which of the tiles stands at (row, column)."""
        row = 0 if _is_one(self.rows) else row
        column = 0 if _is_one(self.columns) else column
        return row * self.columns + column

    def join(self, tiles, like):
        """Put tiles of this grid's shape together to the shape of `like`."""
        _, batch, heads, height, width = (
            length_of(self.tiles, axis) for axis in range(5)
        )
        x = tf.reshape(
            tiles, [self.rows, self.columns, batch, heads, height, width]
        )
        x = tf.transpose(x, [2, 3, 0, 4, 1, 5])
        x = tf.reshape(
            x, [batch, heads, self.rows * height, self.columns * width]
        )
        return x[:, :, : length_of(like, 2), : length_of(like, 3)]


def pick(grid, row, column):
    """The tile of a grid at (row, column); None if there is no grid."""
    return None if grid is None else grid.tiles[grid.number(row, column)]


def _is_one(count) -> bool:
    return isinstance(count, int) and count == 1


def _spread(x, axis, length):
    """Broadcast an axis to `length` unless it is known to be 1 or that."""
    known = x.shape[axis]
    if known == 1 or (isinstance(length, int) and known == length):
        return x
    shape = [length_of(x, i) for i in range(4)]
    shape[axis] = length
    return tf.broadcast_to(x, shape)
