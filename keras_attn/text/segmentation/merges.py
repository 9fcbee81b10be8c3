"""Byte-pair merges of many words at once, in a few rounds."""

from collections.abc import Iterable

import numpy as np
import tensorflow as tf

from keras_attn.text import tables
from keras_attn.text.segmentation import merge_order
from keras_attn.text.segmentation.merge_order import HANDICAPS
from keras_attn.text.segmentation.merge_order import NEVER

# Ranks have 20 bits, so that three and a handicap fill an int64.
_BITS = NEVER.bit_length()
# How many neighbours away a pair looks for what could tear it apart.
_REACH = 4
# Of pairs that must wait for their turn, one goes at a time where they are
# nearer than this: what it makes may take its neighbours before theirs.
_APART = 8


class Merges(tf.Module):
    """Merges neighbouring symbols by rank until no pair can be merged.

    The textbook loop merges one rank in each round. This one merges, in each
    round, every pair that no earlier merge can tear apart any more, which gives
    the same result in about ten rounds even for a word of a million letters.

    Args:
        merges: Symbols (left, right, merged) in order of rank.
        num_symbols: Symbols lie below it.
        assets: `AssetFolder` for the table.
    """

    def __init__(
        self,
        merges: Iterable[tuple[int, int, int]],
        num_symbols: int,
        assets: tables.AssetFolder,
    ):
        super().__init__()
        merges = list(merges)
        if len(merges) >= NEVER:
            raise ValueError(
                f"There may be at most {NEVER - 1} merges. Received: "
                f"{len(merges)}"
            )
        # Ends a word: no merge takes it.
        self.end = num_symbols
        self._merged = np.array([merged for _, _, merged in merges] or [0])
        lines = [
            f"{self._key(*pair)}\t{_pack(*values)}"
            for pair, values in merge_order.pair_values(merges).items()
        ]
        nothing = _pack(NEVER, NEVER, NEVER, 0)
        # A table without a line would be refused.
        path = assets.write("pairs.txt", lines or [f"-1\t{nothing}"])
        self._pairs = tables.columns(path, tf.int64, tf.int64, default=nothing)

    def __call__(self, symbols):
        """Merge.

        Args:
            symbols: (symbols,) int64, each word followed by `end`.

        Returns:
            (fewer symbols,) int64, with the same ends.
        """
        # An end before the first word: every pair has neighbours then.
        symbols = tf.concat([[self.end], symbols], 0)
        pairs = self._pairs.lookup(self._key(symbols, tf.roll(symbols, -1, 0)))
        words = tf.cumsum(tf.cast(symbols == self.end, tf.int32)) - 1
        symbols, _, _ = tf.while_loop(
            lambda symbols, pairs, words: tf.reduce_any(
                _unpack(pairs)[0] < NEVER
            ),
            self._merge_once,
            (symbols, pairs, words),
            shape_invariants=(tf.TensorShape([None]),) * 3,
            parallel_iterations=1,
        )
        return symbols[1:]

    def rows(self, rows):
        """Merge within the rows of ragged (words, symbols) int64."""
        place = tf.range(tf.size(rows.values, tf.int64)) + rows.value_rowids()
        total = tf.size(rows.values, tf.int64) + rows.nrows()
        symbols = tf.tensor_scatter_nd_update(
            tf.fill([total], tf.cast(self.end, tf.int64)),
            place[:, tf.newaxis],
            rows.values,
        )
        symbols = self(symbols)
        is_end = symbols == self.end
        splits = tf.where(is_end)[:, 0]
        splits -= tf.range(tf.size(splits, tf.int64))
        return tf.RaggedTensor.from_row_splits(
            tf.gather_nd(symbols, tf.where(~is_end)),
            tf.concat([[0], splits], 0),
            validate=False,
        )

    def _merge_once(self, symbols, pairs, words):
        """One round; `pairs` are packed values of symbols and their next."""
        ranks, *bounds = _unpack(pairs)
        chosen = _choose(words, ranks, *bounds)
        merged = tf.gather(
            tf.constant(self._merged, tf.int64), tf.where(chosen, ranks, 0)
        )
        symbols = tf.where(chosen, merged, symbols)
        keep = tf.where(~tf.roll(chosen, 1, 0))
        symbols, pairs, words, is_new = (
            tf.gather_nd(part, keep) for part in (symbols, pairs, words, chosen)
        )
        # Only the pairs on both sides of a new symbol are new.
        places = tf.where(is_new | tf.roll(is_new, -1, 0))
        left = tf.gather_nd(symbols, places)
        right = tf.gather_nd(tf.roll(symbols, -1, 0), places)
        pairs = tf.tensor_scatter_nd_update(
            pairs, places, self._pairs.lookup(self._key(left, right))
        )
        return symbols, pairs, words

    def _key(self, left, right):
        return left * (self.end + 1) + right


def _choose(words, ranks, grown_left, grown_right, handicap_kinds):
    """Which pairs can be merged now: no two of them overlap."""
    lowest = tf.gather(tf.math.segment_min(ranks, words), words)
    # Bounds from below of the rank that takes the right (left) symbol of a
    # pair away: the pair's own, or that of a pair whose left (right) symbol
    # has grown, for which that one was taken from the left (right) before.
    # Both ways are one computation: the second row is mirrored.
    own = tf.stack([ranks, ranks[::-1]])
    grown = tf.stack([grown_left, grown_right[::-1]])
    bounds = tf.maximum(
        tf.minimum(own, grown), tf.stack([lowest, lowest[::-1]])
    )
    for _ in range(_REACH):
        bounds = tf.minimum(own, tf.maximum(grown, tf.roll(bounds, 1, 1)))
    from_left, from_right = tf.unstack(tf.roll(bounds, 1, 1))
    handicaps = tf.gather(HANDICAPS, handicap_kinds)
    is_safe = (ranks + handicaps <= from_left) & (ranks <= from_right[::-1])
    chosen = (is_safe | (ranks == lowest)) & (ranks < NEVER)
    waiting = chosen & (handicap_kinds == HANDICAPS.index(NEVER))
    chosen = tf.cond(
        tf.reduce_any(waiting),
        lambda: chosen & ~_follows(waiting, words),
        lambda: chosen,
    )
    return tf.cond(
        tf.reduce_any(chosen & tf.roll(chosen, 1, 0)),
        lambda: chosen & _is_even_in_run(chosen),
        lambda: chosen,
    )


def _follows(waiting, words):
    """Whether a place is waiting soon after another one of its word."""
    after = tf.zeros_like(waiting)
    for step in range(1, _APART):
        near = waiting[:-step] & (words[:-step] == words[step:])
        after |= tf.concat([tf.zeros_like(waiting[:step]), near], 0)
    return waiting & after


def _is_even_in_run(chosen):
    """Whether a place is the first, third, ... of a row of True.

    Pairs that overlap are equal, as in "aaa": from the left, every other one
    is merged.
    """
    places = tf.range(tf.size(chosen))
    is_first = chosen & ~tf.roll(chosen, 1, 0)
    firsts = tf.boolean_mask(places, is_first)
    run = tf.cumsum(tf.cast(is_first, tf.int32))
    return (places - tf.gather(tf.concat([[0], firsts], 0), run)) % 2 == 0


def _pack(*parts):
    """Four numbers as one, the first in the lowest bits."""
    return sum(part << place * _BITS for place, part in enumerate(parts))


def _unpack(packed):
    """(pairs,) int64 to four (pairs,) int32."""
    shifts = tf.range(4, dtype=tf.int64)[:, tf.newaxis] * _BITS
    parts = tf.bitwise.right_shift(packed[tf.newaxis], shifts) & NEVER
    return tf.unstack(tf.cast(parts, tf.int32))
