"""Tokens that are single bytes, side by side: one text, or none."""

import tensorflow as tf

from keras_attn.text.segmentation import byte_letters

# What a byte is called in a vocabulary of other tokens.
BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(256))
_UNREADABLE = byte_letters.spell("\ufffd".encode())


def join(letters, is_byte):
    """Join runs of bytes; a run that is not UTF-8 is U+FFFD for each byte.

    Args:
        letters: Ragged (batch, tokens) strings, bytes spelled as letters.
        is_byte: (all tokens,) booleans: whether a token is a single byte.

    Returns:
        Ragged (batch, fewer tokens) strings.
    """
    return tf.cond(
        tf.reduce_any(is_byte),
        lambda: _join(letters, is_byte),
        lambda: letters,
    )


def _join(letters, is_byte):
    row = letters.value_rowids()
    goes_on = is_byte & tf.roll(is_byte, 1, 0) & (row == tf.roll(row, 1, 0))
    # The first token of all is no neighbour of the last one.
    is_start = ~goes_on | (tf.range(tf.size(is_byte)) == 0)
    run = tf.cumsum(tf.cast(is_start, tf.int32)) - 1
    runs = tf.strings.unsorted_segment_join(letters.values, run, run[-1] + 1)
    text = byte_letters.to_bytes(runs)
    is_text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8") == text
    bad = tf.boolean_mask(is_byte, is_start) & ~is_text
    runs = tf.where(
        bad, tf.strings.regex_replace(runs, "(?s).", _UNREADABLE), runs
    )
    return tf.RaggedTensor.from_value_rowids(
        runs, tf.boolean_mask(row, is_start), letters.nrows(), validate=False
    )
