r"""Text to words by the patterns of published tokenizers, in RE2."""

import tensorflow as tf

# What Unicode calls white space; `\s` of RE2 is ASCII alone.
_SPACE = r"\s\x0b\x{85}\p{Z}"
# The same without line breaks.
_SPACE_IN_LINE = r"\t\x0b\f\x{85}\p{Z}"
# GPT-2's alternatives, in its order, but for its `\s+(?!\S)`.
_GPT2 = (
    r"'s|'t|'re|'ve|'m|'ll|'d"
    r"| ?\p{L}+| ?\p{N}+"
    rf"| ?[^{_SPACE}\p{{L}}\p{{N}}]+"
    rf"|[{_SPACE}]+"
)
# The same for Llama 3 and Qwen, which differ in their numbers.
_LLAMA3, _QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    rf"|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{number}"
    rf"| ?[^{_SPACE}\p{{L}}\p{{N}}]+[\r\n]*"
    rf"|[{_SPACE}]*[\r\n]+|[{_SPACE}]+"
    for number in (r"\p{N}{1,3}", r"\p{N}")
)
# RE2 has no look-ahead. In white space before a word, the last character is
# parted from the others; not where a line ends, since `\s*[\r\n]+` comes first.
_LAST_SPACE = rf"([{_SPACE}]+)([{_SPACE}][^{_SPACE}])"
_LAST_SPACE_IN_LINE = rf"([{_SPACE}]+)([{_SPACE_IN_LINE}][^{_SPACE}])"
# For each rule, what is parted first, and what is a word.
_RULES = {
    "gpt2": (_LAST_SPACE, _GPT2),
    "llama3": (_LAST_SPACE_IN_LINE, _LLAMA3),
    "qwen2": (_LAST_SPACE_IN_LINE, _QWEN2),
    # SentencePiece's: words with the ▁ before them, or with all of these.
    "one_mark": (None, "▁[^▁]*|[^▁]+"),
    "all_marks": (None, "▁*[^▁]+|▁+"),
}
RULES = tuple(_RULES)
# How files of `tokenizers` write them.
PATTERNS = {
    "gpt2": (
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+"
        r"|\s+(?!\S)|\s+"
    ),
    **{
        rule: (
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
            rf"{number}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+"
            r"|\s+(?!\S)|\s+"
        )
        for rule, number in (("llama3", r"\p{N}{1,3}"), ("qwen2", r"\p{N}"))
    },
}
# No valid text holds this byte, and no pattern of RE2 matches it.
_MARK = b"\xff"


def split_words(strings, rule: str = "gpt2"):
    r"""Split strings where a pattern of `PATTERNS` does, such as GPT-2's.

        's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+
        |\s+(?!\S)|\s+

    The pieces of a string, joined, are the string, byte for byte. Bytes that
    are not UTF-8 stay together with the word after them; each 0xFF is a word
    of its own.

    Args:
        strings: (batch,) strings.
        rule: One of `RULES`.

    Returns:
        Ragged (batch, words) strings. Some may be empty.
    """
    words = _split_unmarked(strings, rule)
    written = tf.reduce_sum(tf.strings.length(words.values))
    return tf.cond(
        written == tf.reduce_sum(tf.strings.length(strings)),
        lambda: words,
        lambda: _split_marked(strings, rule),
    )


def _split_unmarked(strings, rule):
    """Split strings that do not hold the mark; it would be lost."""
    before, word = _RULES[rule]
    if before is not None:
        strings = tf.strings.regex_replace(
            strings, before, rb"\1" + _MARK + rb"\2"
        )
    strings = tf.strings.regex_replace(strings, word, rb"\0" + _MARK)
    return _split_at_marks(strings)


def _split_marked(strings, rule):
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
    words = tf.concat([_split_unmarked(parts.values, rule), marks], axis=1)
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
