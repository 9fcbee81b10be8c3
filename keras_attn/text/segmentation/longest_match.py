"""Words to pieces, the longest that fits being taken each time."""

import pathlib
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from keras_attn.text import tables

# An entry of a table is depth << 48 | id << 8 | length in one number.
_DEPTH, _ID, _LENGTH = 48, 8, 0xFF
_IDS = (1 << (_DEPTH - _ID)) - 1
# A place is word << 7 | step: a word of 100 bytes has at most 100 pieces.
_STEP = 7
_STEPS = (1 << _STEP) - 1


class LongestMatch(tf.Module):
    """Greedy longest match from left to right, for many words at once.

        piece_1 = longest opening piece that `word` starts with
        piece_i = longest following piece that the rest starts with

    A table holds every beginning of every piece, with the longest whole piece
    in it. With a beginning all shorter ones are there too, so the longest
    beginning of a word is found by comparing a few lengths, then a few more
    above the longest found. A word costs as many rounds as it has pieces,
    never its length squared, and all words go through a round together.

    Args:
        opening: Id by piece, for the start of a word.
        following: Id by piece, for the rest of it.
        unknown_id: Id of a word that cannot be put together from pieces.
        max_bytes: Longer words are unknown too. At most 127.
        folder: Where the tables' files are written; it must outlive this.

    Call arguments:
        words: (words,) strings, none of them empty or with a line break.

    Returns:
        `pool`, (pieces,) int64 ids, and for each word `starts` and `counts`,
        (words,) int64: word i is `pool[starts[i] : starts[i] + counts[i]]`.
    """

    def __init__(
        self,
        opening: Mapping[bytes, int],
        following: Mapping[bytes, int],
        *,
        unknown_id: int,
        max_bytes: int,
        folder: tables.AssetFolder,
    ):
        super().__init__()
        self.unknown_id = unknown_id
        self.max_bytes = max_bytes
        self._opening = _Beginnings(opening, folder.path / "opening.txt")
        self._following = _Beginnings(following, folder.path / "following.txt")

    def __call__(self, words):
        count = tf.size(words, tf.int64)
        places = tf.bitwise.left_shift(tf.range(count), _int64(_STEP))
        # One word of a megabyte must not be copied in each round.
        too_long = tf.strings.length(words) > self.max_bytes
        words = tf.where(too_long, "", words)
        found = self._opening.longest(words)
        records = tf.stack([places, found])  # (2, pieces)
        records, _, _ = tf.while_loop(
            lambda records, places, rest: tf.size(places) > 0,
            self._next_pieces,
            [records, *self._unfinished(places, words, found)],
            shape_invariants=[
                tf.TensorShape([2, None]),
                tf.TensorShape([None]),
                tf.TensorShape([None]),
            ],
        )
        return self._in_order(*tf.unstack(records), count)

    def _next_pieces(self, records, places, rest):
        found = self._following.longest(rest)
        records = tf.concat([records, tf.stack([places, found])], axis=1)
        return records, *self._unfinished(places, rest, found)

    def _unfinished(self, places, words, found):
        """Places and rests of the words that have one."""
        length = tf.bitwise.bitwise_and(found, _int64(_LENGTH))
        # Where nothing was found, nothing is kept: the word is given up.
        rest = tf.strings.substr(words, length, length * self.max_bytes)
        some = tf.where(tf.strings.length(rest) > 0)[:, 0]
        return tf.gather(places, some) + 1, tf.gather(rest, some)

    def _in_order(self, places, found, count):
        word = tf.bitwise.right_shift(places, _int64(_STEP))
        step = tf.bitwise.bitwise_and(places, _int64(_STEPS))
        length = tf.bitwise.bitwise_and(found, _int64(_LENGTH))
        ids = tf.bitwise.right_shift(found, _int64(_ID))
        ids = tf.bitwise.bitwise_and(ids, _int64(_IDS))
        counts = tf.math.unsorted_segment_sum(
            tf.ones_like(word), word, num_segments=count
        )
        known = tf.math.unsorted_segment_min(length, word, count) > 0
        starts = tf.cumsum(counts, exclusive=True)
        total = tf.size(word, tf.int64)
        pool = tf.scatter_nd(
            (tf.gather(starts, word) + step)[:, tf.newaxis], ids, [total]
        )
        pool = tf.concat([pool, [_int64(self.unknown_id)]], axis=0)
        return pool, tf.where(known, starts, total), tf.where(known, counts, 1)


class _Beginnings(tf.Module):
    """Every beginning of some pieces, with the longest piece in it."""

    def __init__(self, pieces: Mapping[bytes, int], path: pathlib.Path):
        super().__init__()
        entries = _entries(pieces)
        lines = (b"%b\t%d\n" % entry for entry in entries.items())
        # Not by `AssetFolder.write`: half a character is no text.
        path.write_bytes(b"".join(lines))
        self._table = tables.columns(str(path), tf.string, tf.int64, default=0)
        longest = max(map(len, entries))
        base = int(longest**0.5) + 1
        # All lengths are a multiple of the base and a number below it.
        self._far = np.arange(0, longest + 1, base)[:, np.newaxis]
        self._near = np.arange(1, base)[:, np.newaxis]

    def longest(self, words):
        """Entry of the longest beginning of each word; 0 if there is none."""
        found = self._longest_of(words, _int64(self._far))
        depth = tf.bitwise.right_shift(found, _int64(_DEPTH))
        near = self._longest_of(words, depth + _int64(self._near))
        return tf.maximum(found, near)

    def _longest_of(self, words, lengths):
        # A length beyond the end gives the whole word, which is right.
        starts = tf.strings.substr(words, tf.zeros_like(lengths), lengths)
        # Deeper entries are greater.
        return tf.reduce_max(self._table.lookup(starts), axis=0)


def _entries(pieces):
    """Entry by beginning, as the head of this file says."""
    beginnings = {
        piece[:depth] for piece in pieces for depth in range(1, len(piece) + 1)
    }
    # A table must not be empty, and no word has a space in it.
    entries = {b"": 0, b" ": 0}
    for beginning in sorted(beginnings, key=len):
        if beginning in pieces:
            best = pieces[beginning] << _ID | len(beginning)
        else:
            best = entries[beginning[:-1]] & ((1 << _DEPTH) - 1)
        entries[beginning] = len(beginning) << _DEPTH | best
    del entries[b""]
    return entries


def _int64(number):
    return tf.constant(number, tf.int64)
