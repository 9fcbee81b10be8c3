r"""GPT-2's split of text into words, without the look-ahead RE2 lacks."""

import tensorflow as tf

# What Unicode calls white space; `\s` of RE2 is ASCII alone.
_SPACE = r"\s\x0b\x{85}\p{Z}"
# GPT-2's alternatives, in its order, but for its `\s+(?!\S)`.
_WORD = (
    r"'s|'t|'re|'ve|'m|'ll|'d"
    r"| ?\p{L}+| ?\p{N}+"
    rf"| ?[^{_SPACE}\p{{L}}\p{{N}}]+"
    rf"|[{_SPACE}]+"
)
# In white space before a word, the last character is parted from the others.
_BEFORE_WORD = rf"([{_SPACE}]+)([{_SPACE}][^{_SPACE}])"
# No valid text holds this byte, and no pattern of RE2 matches it.
_MARK = b"\xff"


def split_words(strings):
    r"""Split strings where GPT-2's pattern does.

        's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+
        |\s+(?!\S)|\s+

    The pieces of a string, joined, are the string, byte for byte. Bytes that
    are not UTF-8 stay together with the word after them; each 0xFF is a word
    of its own.

    Args:
        strings: (batch,) strings.

    Returns:
        Ragged (batch, words) strings. Some may be empty.
    """
    words = _split_unmarked(strings)
    written = tf.reduce_sum(tf.strings.length(words.values))
    return tf.cond(
        written == tf.reduce_sum(tf.strings.length(strings)),
        lambda: words,
        lambda: _split_marked(strings),
    )


def _split_unmarked(strings):
    """Split strings that do not hold the mark; it would be lost."""
    strings = tf.strings.regex_replace(
        strings, _BEFORE_WORD, rb"\1" + _MARK + rb"\2"
    )
    strings = tf.strings.regex_replace(strings, _WORD, rb"\0" + _MARK)
    return _split_at_marks(strings)


def _split_marked(strings):
    """Split at the mark first, and put it back as a word."""
    parts = _split_at_marks(strings)
    # A mark follows each part of a string but the last.
    last = parts.row_splits[1:] - 1
    marks = tf.tensor_scatter_nd_update(
        tf.ones_like(parts.values, tf.int64),
        last[:, tf.newaxis],
        tf.zeros_like(last),
    )
    marks = tf.RaggedTensor.from_row_lengths(
        tf.fill([tf.reduce_sum(marks)], _MARK), marks
    )
    words = tf.concat([_split_unmarked(parts.values), marks], axis=1)
    return parts.with_values(words).merge_dims(1, 2)


def _split_at_marks(strings):
    places, parts, _ = tf.raw_ops.StringSplitV2(input=strings, sep=_MARK)
    # Cheaper than the way of `tf.strings.split`, which counts.
    splits = tf.searchsorted(
        places[:, 0], tf.range(tf.size(strings, tf.int64) + 1)
    )
    return tf.RaggedTensor.from_row_splits(
        parts, tf.cast(splits, tf.int64), validate=False
    )
