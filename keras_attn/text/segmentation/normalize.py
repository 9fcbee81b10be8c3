"""Small letters, letters without accents, text without control characters."""

import unicodedata

import tensorflow as tf

from keras_attn.text import tables
from keras_attn.text.segmentation.change_where import change_where

# What changes lies here: three planes of scripts, and one of signs that
# choose variants. Latin, Greek and others of one byte are done by an op.
_PLANES = (range(0x80, 0x30000), range(0xE0000, 0xE1000))
# One code point has 21 bits, and becomes at most three.
_BITS = 21
_MOST = 3
_CONTROL = (
    r"[\x{0}-\x{8}\x{b}\x{c}\x{e}-\x{1f}\x{7f}-\x{9f}\x{fffd}\p{Cf}\p{Co}]"
)


class Normalizer(tf.Module):
    """Text to the form in which words are looked up.

        text = strip(decompose(lower(text)))

    Core ops have no Unicode normalisation, so each code point is replaced by
    what Python's `unicodedata` says: with `lowercase` its small letters, with
    `strip_accents` its canonical decomposition (NFD) without nonspacing marks
    (category Mn). That takes Korean syllables apart, as BERT does. Neighbours
    play no part: a capital sigma at the end of a word becomes σ, not ς.
    `FastBertNormalizer` of tensorflow-text differs: it also replaces
    compatibility characters (ﬁ by fi), ß by ss, and control characters by
    spaces. Bytes that are not UTF-8 become U+FFFD, if code points are replaced.

    Args:
        lowercase: Whether letters become small.
        strip_accents: Whether accents are taken off.
        clean_text: Whether control and format characters (but tab and line
            breaks), those for private use and U+FFFD are taken out.
        folder: Where a table's file is written; it must outlive this.

    Call arguments:
        strings: (batch,) UTF-8 strings.

    Returns:
        (batch,) UTF-8 strings.
    """

    def __init__(
        self,
        *,
        lowercase: bool,
        strip_accents: bool,
        clean_text: bool = False,
        folder: tables.AssetFolder,
    ):
        super().__init__()
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.clean_text = clean_text
        if lowercase or strip_accents:
            lines = (
                f"{code}\t{_pack(new)}"
                for code, new in replacements(lowercase, strip_accents).items()
            )
            self._table = tables.columns(
                folder.write("code_points.txt", lines),
                tf.int64,
                tf.int64,
                default=-1,
            )

    def __call__(self, strings):
        if self.clean_text:
            strings = tf.strings.regex_replace(strings, _CONTROL, "")
        if self.lowercase:
            strings = tf.strings.lower(strings)
        if not (self.lowercase or self.strip_accents):
            return strings
        plain = tf.strings.regex_full_match(strings, r"[\x{0}-\x{7f}]*")
        return change_where(~plain, self._replace, strings)

    def _replace(self, strings):
        codes = tf.strings.unicode_decode(strings, "UTF-8")
        old = tf.cast(codes.values, tf.int64)
        new = self._table.lookup(old)
        # Nothing of an ordinary code point is above its first 21 bits.
        new = tf.where(new < 0, old, new)
        parts = tf.stack(
            [
                tf.bitwise.right_shift(new, tf.constant(part, tf.int64))
                for part in range(0, _BITS * _MOST, _BITS)
            ],
            axis=1,
        )
        parts = tf.bitwise.bitwise_and(
            parts, tf.constant((1 << _BITS) - 1, tf.int64)
        )
        # U+0000 is not in the table, and 0 elsewhere means no code point.
        kept = (parts > 0) | tf.pad((old == 0)[:, tf.newaxis], [[0, 0], [0, 2]])
        ends = tf.cumsum(tf.reduce_sum(tf.cast(kept, tf.int64), axis=1))
        ends = tf.concat([[0], ends], axis=0)
        replaced = tf.RaggedTensor.from_row_splits(
            tf.cast(tf.boolean_mask(parts, kept), tf.int32),
            tf.gather(ends, codes.row_splits),
            validate=False,
        )
        return tf.strings.unicode_encode(replaced, "UTF-8")


def replacements(lowercase: bool, strip_accents: bool) -> dict[int, str]:
    """What becomes of each code point outside ASCII that changes."""
    changed = {}
    for plane in _PLANES:
        for code in plane:
            old = new = chr(code)
            if 0xD800 <= code < 0xE000:
                continue  # surrogates, which UTF-8 does not have
            if lowercase:
                new = new.lower()
            if strip_accents:
                new = unicodedata.normalize("NFD", new)
                new = "".join(filter(_takes_space, new))
            if new != old:
                changed[code] = new
    return changed


def _takes_space(character):
    return unicodedata.category(character) != "Mn"


def _pack(text):
    return sum(ord(part) << _BITS * i for i, part in enumerate(text))
