"""Tokens that a model wrote, as its tokenizer can read them."""

from collections.abc import Sequence

import tensorflow as tf

from keras_attn.decoding.answer_mask import is_end
from keras_attn.text.tokenizer import Tokenizer


def readable(tokenizer: Tokenizer, tokens, end_ids: Sequence[int]):
    """Make of what a model wrote ids that leave no trace of its end.

    A model may know more ids than the tokenizer, which stand for nothing.

    Args:
        tokenizer: Reads them.
        tokens: (batch, length) ids.
        end_ids: What ends an answer.

    Returns:
        Ragged (batch, tokens) ids of the tokenizer.
    """
    known = tokens < tokenizer.vocabulary_size
    return tf.ragged.boolean_mask(tokens, known & ~is_end(tokens, end_ids))


def spell(tokenizer: Tokenizer, ids, real):
    """Each token as text: (batch, length) strings, empty where not real."""
    most = tokenizer.vocabulary_size - 1
    real &= ids <= most
    ids = tf.minimum(ids, most)
    tokens = tokenizer.detokenize(ids[:, :, None], keep_special=True)
    return tf.where(real, tokens, "")
