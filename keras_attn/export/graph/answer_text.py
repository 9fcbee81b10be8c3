"""Tokens that a model wrote, as its tokenizer can read them."""

from collections.abc import Sequence

import tensorflow as tf

from keras_attn.decoding.answer_mask import is_end
from keras_attn.text.tokenizer import Tokenizer


def readable(tokenizer: Tokenizer, tokens, end_ids: Sequence[int]):
    """Make of what a model wrote ids that leave no trace of its end.

    Args:
        tokenizer: Reads them; it leaves its own END out.
        tokens: (batch, length) ids.
        end_ids: What ends an answer.

    Returns:
        (batch, length) ids of the tokenizer.
    """
    end_id = tokenizer.end_id
    if tuple(end_ids) != (end_id,) and end_id is not None:
        # Which of several ends it was is not part of the text.
        tokens = tf.where(is_end(tokens, end_ids), end_id, tokens)
    # A model may know more ids than the tokenizer.
    return tf.minimum(tokens, tokenizer.vocabulary_size - 1)


def spell(tokenizer: Tokenizer, ids, real):
    """Each token as text: (batch, length) strings, empty where not real."""
    ids = tf.minimum(ids, tokenizer.vocabulary_size - 1)
    tokens = tokenizer.detokenize(ids[:, :, None], keep_special=True)
    return tf.where(real, tokens, "")
