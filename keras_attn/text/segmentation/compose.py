"""Text in Unicode's normalisation form C: é as one code point, not two."""

import sys
import unicodedata

import numpy as np
import tensorflow as tf

from keras_attn.text import tables
from keras_attn.text.segmentation.change_where import change_where

# A code point has 21 bits, and decomposes into four at most.
_BITS = 21
_MOST = 4
_SYLLABLES = range(0xAC00, 0xD7A4)
# Stands before every row, and takes part in nothing.
_SEPARATOR = -1


class Compose(tf.Module):
    """Canonical decomposition, then canonical composition (NFC).

        text = compose(order(decompose(text)))

    Core ops have no Unicode normalisation, so it is done by tables that are
    made from Python's `unicodedata`, Korean syllables included. Most texts
    hold no mark that could be moved or composed, and are left alone after one
    look. Strings that are not UTF-8 are left alone too.

    Args:
        folder: Where the tables' files are written; it must outlive this.

    Call arguments:
        strings: (batch,) strings.

    Returns:
        (batch,) strings.

    Reference:
        Unicode Standard Annex 15, 2023. https://unicode.org/reports/tr15
    """

    def __init__(self, folder: tables.AssetFolder):
        super().__init__()
        decompositions, pairs, classes = _data()
        self._parts = np.zeros([len(decompositions), _MOST], np.int32)
        for row, parts in enumerate(decompositions.values()):
            self._parts[row, : len(parts)] = parts
        numbered = zip(decompositions, range(len(decompositions)), strict=True)
        self._rows, self._pairs, self._classes = (
            tables.columns(
                folder.write(name, (f"{a}\t{b}" for a, b in lines)),
                tf.int64,
                tf.int64,
                default=default,
            )
            for name, lines, default in (
                ("decompositions.txt", numbered, -1),
                ("compositions.txt", pairs.items(), -1),
                ("combining_classes.txt", classes.items(), 0),
            )
        )
        # What decomposes for good, what may compose, and what may be moved.
        changing = {code for code in decompositions if not _is_stable(code)}
        changing |= {pair & (1 << _BITS) - 1 for pair in pairs} | {*classes}
        self._changing = f"(?s).*[{_ranges(changing)}].*"

    def __call__(self, strings):
        may_change = tf.strings.regex_full_match(strings, self._changing)
        return tf.cond(
            tf.reduce_any(may_change),
            lambda: change_where(may_change, self._compose, strings),
            lambda: strings,
        )

    def _compose(self, strings):
        codes = tf.strings.unicode_decode(strings, "UTF-8")
        separators = tf.fill([codes.nrows(), 1], _SEPARATOR)
        codes = tf.concat([separators, codes], axis=1).values
        codes = self._order(self._decompose(tf.cast(codes, tf.int64)))
        codes = self._join(*codes)
        starts = tf.where(codes == _SEPARATOR)[:, 0]
        starts -= tf.range(tf.size(starts, tf.int64))
        kept = tf.boolean_mask(codes, codes != _SEPARATOR)
        rows = tf.RaggedTensor.from_row_starts(
            tf.cast(kept, tf.int32), starts, validate=False
        )
        return tf.strings.unicode_encode(rows, "UTF-8")

    def _decompose(self, codes):
        row = self._rows.lookup(codes)
        parts = tf.gather(tf.constant(self._parts), tf.maximum(row, 0))
        itself = tf.pad(codes[:, tf.newaxis], [[0, 0], [0, _MOST - 1]])
        parts = tf.where(
            row[:, tf.newaxis] < 0, itself, tf.cast(parts, tf.int64)
        )
        # U+0000 is no part of anything else.
        kept = tf.concat([tf.ones_like(parts[:, :1]), parts[:, 1:]], 1) != 0
        return tf.boolean_mask(parts, kept)

    def _order(self, codes):
        """Codes and classes, each run of marks in order of its classes."""
        classes = self._classes.lookup(codes)
        run = tf.cumsum(tf.cast(classes == 0, tf.int64))
        order = tf.argsort(run * 256 + classes, stable=True)
        return tf.gather(codes, order), tf.gather(classes, order)

    def _join(self, codes, classes):
        """Compose, until nothing can be composed any more."""
        codes, _, _ = tf.while_loop(
            lambda codes, classes, changed: changed,
            self._join_once,
            (codes, classes, True),
            shape_invariants=(
                tf.TensorShape([None]),
                tf.TensorShape([None]),
                tf.TensorShape([]),
            ),
        )
        return codes

    def _join_once(self, codes, classes, _):
        """Join each starter with the first mark that it composes with."""
        places = tf.range(tf.size(codes, tf.int64))
        starters = tf.where(classes == 0)[:, 0]
        before = tf.cumsum(tf.cast(classes == 0, tf.int64), exclusive=True)
        # The first place is a separator, which has no starter before it.
        starter = tf.gather(starters, tf.maximum(before - 1, 0))
        last_class = tf.roll(classes, 1, 0)
        # A mark of the same class, or a starter, would stand between.
        is_free = (starter == places - 1) | (last_class < classes)
        first = tf.gather(codes, starter)
        key = tf.bitwise.left_shift(first, tf.constant(_BITS, tf.int64)) + codes
        joined = self._pairs.lookup(
            tf.where(is_free & (codes > 0) & (first > 0), key, -1)
        )
        marks = tf.where(joined >= 0)[:, 0]
        into = tf.gather(starter, marks)
        is_first = tf.concat([[-1], into[:-1]], 0) != into
        marks, into = marks[is_first], into[is_first]
        # A starter that another one takes cannot take anything itself.
        taken = tf.scatter_nd(
            marks[:, tf.newaxis],
            tf.ones_like(marks, tf.bool),
            tf.shape(codes, tf.int64),
        )
        is_there = ~tf.gather(taken, into)
        marks, into = marks[is_there], into[is_there]
        codes = tf.tensor_scatter_nd_update(
            codes, into[:, tf.newaxis], tf.gather(joined, marks)
        )
        gone = tf.scatter_nd(
            marks[:, tf.newaxis],
            tf.ones_like(marks, tf.bool),
            tf.shape(codes, tf.int64),
        )
        return (
            tf.boolean_mask(codes, ~gone),
            tf.boolean_mask(classes, ~gone),
            tf.size(marks) > 0,
        )


def _data():
    """Full decompositions, composites of pairs, and combining classes."""
    decompositions, pairs, classes = {}, {}, {}
    for code in range(0x80, sys.maxunicode + 1):
        sign = chr(code)
        if unicodedata.combining(sign):
            classes[code] = unicodedata.combining(sign)
        if code in _SYLLABLES:
            whole = unicodedata.normalize("NFD", sign)
            parts = [unicodedata.normalize("NFC", whole[:-1]), whole[-1]]
        else:
            mapping = unicodedata.decomposition(sign)
            if not mapping or mapping.startswith("<"):
                continue
            parts = [chr(int(part, 16)) for part in mapping.split()]
        whole = unicodedata.normalize("NFD", sign)
        decompositions[code] = [*map(ord, whole)]
        if len(parts) == 2 and _is_stable(code):
            pairs[ord(parts[0]) << _BITS | ord(parts[1])] = code
    return decompositions, pairs, classes


def _is_stable(code):
    return unicodedata.is_normalized("NFC", chr(code))


def _ranges(codes):
    """Code points as the inside of a pattern's brackets."""
    ends = []
    for code in sorted(codes):
        if ends and ends[-1][1] == code - 1:
            ends[-1][1] = code
        else:
            ends.append([code, code])
    return "".join(rf"\x{{{first:x}}}-\x{{{last:x}}}" for first, last in ends)
