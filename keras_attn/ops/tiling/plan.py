"""Which tiles an attention has, and what each of them scores."""

import tensorflow as tf

from keras_attn.ops.dropout import seeded_dropout
from keras_attn.ops.scores import Rules
from keras_attn.ops.scores import tile_scores
from keras_attn.ops.softmax import exclusion
from keras_attn.ops.tiling import tiles
from keras_attn.ops.tiling.grid import Grid
from keras_attn.ops.tiling.grid import pick


class Plan:
    """Everything of a tiled attention that its gradient does not flow through.

        scores(row, column) = cap(scale · q · k) + bias, or very low if hidden

    Args:
        rules: Scale, causality, window and modifiers.
        query: (batch, query, heads, depth).
        key: (batch, key, kv_heads, depth).
        query_positions, key_positions: (batch or 1, length) integers.
        mask: Booleans with the axes (batch, heads, query, key), or None.
        segments: (batch or 1, length) integers of queries and of keys, or
            None.
        dropout: Fraction of the weights dropped.
        seed: (2,) integers, if there is dropout.
        tile: Queries and keys of one tile, at the most.
    """

    def __init__(
        self,
        rules: Rules,
        query,
        key,
        query_positions,
        key_positions,
        *,
        mask,
        segments,
        dropout: float,
        seed,
        tile: tuple[int, int],
    ):
        self.rules = rules
        self.dropout = dropout
        self.seed = seed
        self.query_length = tiles.length_of(query, 1)
        self.key_length = tiles.length_of(key, 1)
        # How many tiles there are, and how long each is.
        self.query_tiles = tiles.tile_count(self.query_length, tile[0])
        self.key_tiles = tiles.tile_count(self.key_length, tile[1])
        self.query_positions = tiles.split_positions(
            query_positions, *self.query_tiles
        )  # (query count, batch or 1, query)
        self.key_positions = tiles.split_positions(
            key_positions, *self.key_tiles
        )  # (key count, batch or 1, key)
        # Both cut likewise, or None.
        self.segments = segments and (
            tiles.split_positions(segments[0], *self.query_tiles),
            tiles.split_positions(segments[1], *self.key_tiles),
        )
        # First and past the last tile of the other kind that can be seen.
        self.key_range, self.query_range = tiles.visible_ranges(
            self.query_positions,
            self.key_positions,
            causal=rules.causal,
            window=rules.window,
            segments=self.segments,
        )
        self.mask = None if mask is None else self.cut(mask)
        self.real = self._real_keys()

    def split_queries(self, x):
        """Cut into (query count, batch, heads, query, depth)."""
        return tiles.split_heads(x, *self.query_tiles)

    def split_keys(self, x):
        """Cut into (key count, batch, kv_heads, key, depth)."""
        return tiles.split_heads(x, *self.key_tiles)

    def cut(self, x) -> Grid:
        """Cut (batch, heads, query, key) along both lengths."""
        return Grid.cut(
            x,
            self.query_length,
            self.query_tiles,
            self.key_length,
            self.key_tiles,
        )

    def scores(self, row, column, query, key, bias, parameters):
        """Score one tile; hidden keys score very low.

        Args:
            row, column: Which query tile attends to which key tile.
            query: (batch, heads, query, depth), scaled.
            key: (batch, kv_heads, key, depth).
            bias: The tile's bias, or None.
            parameters: One tuple of weights for each modifier.

        Returns:
            (batch, heads, query, key).
        """
        segments = self.segments and (
            self.segments[0][row],
            self.segments[1][column],
        )
        scores, visible = tile_scores(
            self.rules,
            query,
            key,
            self.query_positions[row],
            self.key_positions[column],
            bias=bias,
            mask=pick(self.mask, row, column),
            real=None if self.real is None else self.real[column],
            segments=segments,
            parameters=parameters,
        )
        if visible is None:
            return scores
        return scores + exclusion(visible, scores.dtype)

    def drop(self, weights, row, column):
        """Drop weights: the same ones each time this tile is visited."""
        if not self.dropout:
            return weights
        number = row * self.key_tiles[0] + column
        seed = tf.random.experimental.stateless_fold_in(self.seed, number)
        return seeded_dropout(weights, self.dropout, seed)

    def _real_keys(self):
        """Which keys are not there to fill up a tile; None if all."""
        count, size = self.key_tiles
        if isinstance(self.key_length, int) and count * size == self.key_length:
            return None
        real = tf.range(count * size) < self.key_length
        return tf.reshape(real, [count, 1, 1, 1, size])
