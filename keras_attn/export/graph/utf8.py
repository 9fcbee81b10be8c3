"""Strings that are text: UTF-8, as JSON and every client read it."""

import tensorflow as tf


def is_utf8(strings):
    """Whether each of (batch,) strings is text: (batch,) booleans."""
    return to_utf8(strings) == strings


def to_utf8(strings):
    """Make text of strings, in graph.

    Args:
        strings: Strings of any shape, such as a text that a model's last
            token left in the middle of a character.

    Returns:
        The same, with U+FFFD for each part that is no UTF-8, as Python's
        `bytes.decode(errors="replace")` has it.
    """
    return tf.strings.unicode_transcode(strings, "UTF-8", "UTF-8")
