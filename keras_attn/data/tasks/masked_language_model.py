"""Texts with some tokens hidden, to be found again."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.data.pipeline.stateless_seeds import split
from keras_attn.data.pipeline.stateless_seeds import with_seeds
from keras_attn.data.tasks import encoding
from keras_attn.text.layouts import check_special
from keras_attn.text.layouts import join_pair
from keras_attn.text.layouts import special_id
from keras_attn.text.tokenizer import Tokenizer

USE = 3  # of the seeds; others belong to other modules


def masked_language_model(
    texts: tf.data.Dataset, tokenizer: Tokenizer
) -> tf.data.Dataset:
    """Training examples of masked language modelling, nothing hidden yet.

        tokens = START, text, END[, text_pair, END]    labels = tokens

    `mask_tokens` hides tokens, after `batches`, so that every epoch hides
    others.

    Args:
        texts: `{"text"}` or `{"text", "text_pair"}`, scalar strings.
        tokenizer: Its vocabulary has START, END and MASK.

    Returns:
        `({"tokens", "segments"}, labels)`, int32 (tokens,) each. `segments`
        are 0, and 1 in the second text.

    Reference:
        Devlin et al. 2019, section 3.1. https://arxiv.org/abs/1810.04805
    """
    encoding.check_texts(texts, "text", optional="text_pair")
    check_special(tokenizer, "start", "end", "mask")

    def encode(example):
        inputs = join_pair(tokenizer, *encoding.text_ids(tokenizer, example))
        return inputs, inputs["tokens"]

    return encoding.encode(texts, encode)


def mask_tokens(
    batches: tf.data.Dataset,
    tokenizer: Tokenizer,
    *,
    rate: float = 0.15,
    seed: int = 0,
) -> tf.data.Dataset:
    """Hide tokens of each row, others in every epoch.

        chosen = max(1, round(rate · n)) of the n ordinary tokens of a row
        token  = MASK               for 80 % of the chosen
                 any ordinary one   for 10 %
                 as it was          for 10 %
        label  = the token as it was if chosen, else PAD

    Ordinary is what is not PAD, START, END, MASK or unknown. A row without
    ordinary tokens stays as it is.

    Args:
        batches: `({"tokens", ...}, labels)` with (batch, length) tokens.
        tokenizer: Its vocabulary has PAD and MASK.
        rate: Share of tokens to choose, above 0 and up to 1.
        seed: The same seed hides the same tokens.

    Returns:
        The same structure, (batch, length) int32 labels.

    Reference:
        Devlin et al. 2019, section 3.1 and appendix A.1.
        https://arxiv.org/abs/1810.04805
    """
    hide_tokens = token_hider(tokenizer, rate)

    def hide(batch, seed):
        inputs, _ = batch
        tokens, labels = hide_tokens(inputs["tokens"], seed)
        return {**inputs, "tokens": tokens}, labels

    seeded = with_seeds(batches, seed, use=USE)
    return seeded.map(hide, tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def token_hider(tokenizer: Tokenizer, rate: float) -> Callable:
    """Make the function that hides tokens, as `mask_tokens` says.

    Args:
        tokenizer, rate: As for `mask_tokens`.

    Returns:
        A function of (batch, length) tokens and a seed, (2,) integers, which
        returns (batch, length) tokens and labels.
    """
    argument_checks.share(rate, "rate")
    pad = special_id(tokenizer, "pad")
    mask = special_id(tokenizer, "mask")
    parts = (tokenizer.start_id, tokenizer.end_id, tokenizer.unknown_id)
    special = sorted({pad, mask, *parts} - {None})
    ordinary = np.setdiff1d(np.arange(tokenizer.vocabulary_size), special)
    ordinary = ordinary.astype("int32")

    def hide(tokens, seed):
        choosing, fate, replacing = tf.unstack(split(seed, 3))
        chosen = choose(_is_ordinary(tokens, special), rate, choosing)
        fate = tf.random.stateless_uniform(tf.shape(tokens), fate)
        index = tf.random.stateless_uniform(
            tf.shape(tokens), replacing, 0, len(ordinary), tf.int32
        )
        hidden = tf.where(
            fate < 0.8,
            mask,
            tf.where(fate < 0.9, tf.gather(ordinary, index), tokens),
        )
        labels = tf.where(chosen, tokens, pad)
        return tf.where(chosen, hidden, tokens), labels

    return hide


def _is_ordinary(tokens, special):
    ordinary = tf.ones_like(tokens, tf.bool)
    for number in special:
        ordinary &= tokens != number
    return ordinary


def choose(candidates, rate, seed):
    """Choose max(1, round(rate · n)) of the n candidates of each row."""
    count = tf.reduce_sum(tf.cast(candidates, tf.float32), 1, keepdims=True)
    count = tf.maximum(1, tf.cast(tf.round(count * rate), tf.int32))
    draws = tf.random.stateless_uniform(tf.shape(candidates), seed)
    draws = tf.where(candidates, draws, 2.0)
    # The place of each draw in the order of its row.
    rank = tf.argsort(tf.argsort(draws, stable=True))
    return candidates & (rank < count)
