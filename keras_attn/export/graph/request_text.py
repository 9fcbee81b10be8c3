"""From a request's texts to ids, with a word on each text."""

import tensorflow as tf

from keras_attn.export.graph.utf8 import is_utf8
from keras_attn.text.tokenizer import Tokenizer


def read(tokenizer: Tokenizer, texts, room: int, *, from_end: bool = False):
    """Read texts, none of which can fail the others.

        valid = is UTF-8 and has at least one token
        truncated = has more than `room` tokens

    Args:
        tokenizer: Turns texts into ids.
        texts: (batch,) strings.
        room: How many tokens of a text are taken.
        from_end: Whether the last tokens of a long text are taken, not the
            first.

    Returns:
        Ragged (batch, tokens) int32 ids, none where a text is not UTF-8;
        (batch,) valid; (batch,) truncated.
    """
    readable = is_utf8(texts)
    ids = tokenizer(tf.where(readable, texts, ""))
    lengths = ids.row_lengths()
    taken = ids[:, -room:] if from_end else ids[:, :room]
    return taken, readable & (lengths > 0), lengths > room
