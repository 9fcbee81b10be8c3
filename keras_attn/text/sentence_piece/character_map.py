"""Characters, and runs of them, replaced by others."""

import itertools
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from keras_attn.text import tables
from keras_attn.text.segmentation.change_where import change_where
from keras_attn.text.sentence_piece.chain import reached
from keras_attn.text.sentence_piece.trie import END
from keras_attn.text.sentence_piece.trie import Trie


class CharacterMap(tf.Module):
    """Text in which the longest key at each place is replaced by its value.

        text = key_1 rest -> value_1 map(rest),    key_1 the longest that fits

    A character that no key starts with stays. Texts in which nothing can be
    replaced, which is most of them, are left alone. In the others bytes that
    are not UTF-8 become U+FFFD.

    Args:
        replacements: Value by key, both text. Values may be empty.
        folder: Where the table's file is written; it must outlive this.
        name: Of the file.

    Call arguments:
        strings: (batch,) UTF-8 strings.

    Returns:
        (batch,) UTF-8 strings.
    """

    def __init__(
        self,
        replacements: Mapping[str, str],
        *,
        folder: tables.AssetFolder,
        name: str,
    ):
        super().__init__()
        self._plain = _class_without(_changing(replacements))
        keys = {key: place for place, key in enumerate(replacements)}
        self._trie = Trie(keys, folder=folder, name=name)
        values = list(replacements.values())
        self._pool = np.array([ord(c) for c in "".join(values)], "int32")
        ends = np.cumsum([0, *map(len, values)])
        self._starts, self._counts = ends[:-1], np.diff(ends)

    def __call__(self, strings):
        plain = tf.strings.regex_full_match(strings, f"[{self._plain}]*")
        return change_where(~plain, self._replace, strings)

    def _replace(self, strings):
        texts = tf.strings.unicode_decode(strings, "UTF-8")
        ends = tf.fill([texts.nrows(), 1], END)
        texts = tf.concat([texts, ends], axis=1)
        codes = texts.values
        places = tf.range(tf.size(codes, tf.int64))
        lengths, entries = self._longest(tf.cast(codes, tf.int64))
        is_end = codes == END
        taken = self._taken(is_end, tf.where(is_end, places, places + lengths))
        # Characters that stay are behind the values in one pool.
        size = len(self._pool)
        pool = tf.concat([tf.constant(self._pool, tf.int32), codes], 0)
        known = entries >= 0
        entries = tf.maximum(entries, 0)
        starts = tf.where(
            known, tf.gather(_int64(self._starts), entries), places + size
        )
        counts = tf.where(known, tf.gather(_int64(self._counts), entries), 1)
        counts = tf.where(taken & ~is_end, counts, 0)
        ranges = tf.ragged.range(starts, starts + counts)
        replaced = tf.RaggedTensor.from_row_splits(
            tf.gather(pool, ranges.values),
            tf.gather(ranges.row_splits, texts.row_splits),
            validate=False,
        )
        return tf.strings.unicode_encode(replaced, "UTF-8")

    def _longest(self, codes):
        """Length (1 if there is none) and number (or -1) of the longest key."""
        places, lengths, values = self._trie(codes)
        # Longer keys are greater, whatever their number is.
        shift = _int64(24)
        best = tf.math.unsorted_segment_max(
            tf.bitwise.left_shift(lengths, shift) + values,
            places,
            tf.size(codes),
        )
        found = best >= 0
        length = tf.where(found, tf.bitwise.right_shift(best, shift), 1)
        number = tf.bitwise.bitwise_and(best, _int64((1 << 24) - 1))
        return length, tf.where(found, number, -1)

    def _taken(self, is_end, goals):
        """Which places are not within a key that started before them."""
        starts = tf.concat([[True], is_end[:-1]], 0)[: tf.size(is_end)]
        return tf.cond(
            tf.reduce_any(goals - tf.range(tf.size(goals, tf.int64)) > 1),
            lambda: reached(starts, goals),
            lambda: tf.ones_like(is_end),
        )


def _changing(replacements):
    """Code points without which no key is in a text."""
    for key, value in replacements.items():
        if len(key) > 1:
            yield ord(key[-1])
        elif key != value:
            yield ord(key)


def _class_without(codes):
    """The inside of a pattern's brackets: all code points but these."""
    bounds = [-1, *sorted(set(codes)), 0x110000]
    pairs = itertools.pairwise(bounds)
    return "".join(
        rf"\x{{{first + 1:x}}}-\x{{{last - 1:x}}}"
        for first, last in pairs
        if last - first > 1
    )


def _int64(numbers):
    return tf.constant(numbers, tf.int64)
