"""Tokens such as >>fra<< that a text may open with."""

from collections.abc import Mapping

import tensorflow as tf

from keras_attn.text import tables

_PATTERN = r"(?s)(>>.*?<<)(.*)"


def table(ids: Mapping[str, int]) -> tf.lookup.StaticHashTable:
    """Table from a code of a vocabulary to its id; -1 for others."""
    codes = {
        token.encode(): number
        for token, number in ids.items()
        if token.startswith(">>") and token.endswith("<<")
    }
    # A table must not be empty, and no code is.
    return tables.constants(codes or {b"": -1})


def split(strings, codes: tf.lookup.StaticHashTable):
    """Take the codes off.

    Args:
        strings: (batch,) strings.
        codes: What `table` made.

    Returns:
        (batch,) strings without a code, and ragged (batch, codes) int32 ids:
        one, or none, in each row.
    """
    there = tf.strings.regex_full_match(strings, _PATTERN)
    rows = tf.where(there)
    marked = tf.gather_nd(strings, rows)
    code = tf.strings.regex_replace(marked, _PATTERN, r"\1")
    rest = tf.strings.regex_replace(marked, _PATTERN, r"\2")
    ids = tf.RaggedTensor.from_row_lengths(
        tf.cast(codes.lookup(code), tf.int32),
        tf.cast(there, tf.int64),
        validate=False,
    )
    return tf.tensor_scatter_nd_update(strings, rows, rest), ids
