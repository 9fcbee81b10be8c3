"""Beam search by the textbook: one pool, of ended beams and of others."""

import math

import numpy as np
import tensorflow as tf

from keras_attn.decoding.answer_mask import is_end
from keras_attn.decoding.beams.expansion import Expansion
from keras_attn.decoding.beams.expansion import only_first
from keras_attn.decoding.state import freeze


def search(
    expand: Expansion,
    *,
    length_penalty: float,
    num_results: int,
    has_limits: bool,
    keep_state: bool,
):
    """Let ended beams compete with the continuations of the others.

        score = Σ log p(token[t]) / ((5 + length) / 6)^length_penalty

    Args:
        expand: Takes the steps.
        length_penalty: 0 ranks by probability.
        num_results: How many of the best must be settled.
        has_limits: Whether rows have limits of their own.
        keep_state: Whether a beam keeps the state of its end.

    Returns:
        (batch, width) scores, best first; what is written, (batch · width,
        max_length) each; the leaves of the state; and (batch · width,) which
        row of the leaves belongs to each beam.

    Reference:
        Wu et al. 2016, section 7, equation 14. https://arxiv.org/abs/1609.08144
    """
    batch, batch_size = expand.batch, expand.batch_size
    width, end_ids, last = expand.width, expand.end_ids, expand.last
    # What sums are divided by, for lengths from 1: (max_length,).
    lengths = np.arange(1, expand.max_length + 1)
    penalties = tf.constant(((5 + lengths) / 6) ** length_penalty, tf.float32)

    def unfinished(index, token, finished, scores, sums, rows, *others):
        settled = tf.reduce_all(finished[:, :num_results], axis=-1)
        if length_penalty:
            # What a beam has lost it cannot win back, only see divided by more.
            alive = tf.where(finished, -math.inf, sums) / penalties[-1]
            hope = tf.reduce_max(alive, axis=-1)
            settled &= hope <= scores[:, num_results - 1]
        some = tf.logical_not(tf.reduce_all(settled))
        return tf.logical_and(index < expand.max_length, some)

    def advance(index, token, finished, scores, sums, rows, written, leaves):
        # Not at the end of the step before: here XLA gathers a cache and
        # writes to it in one pass.
        leaves = [tf.gather(leaf, rows) for leaf in leaves]
        values, new, after = expand(token, leaves, written, index)
        if keep_state:
            after = freeze(tf.reshape(finished, [-1]), leaves, after)
        number = values.shape[-1]
        itself = only_first(number)

        # An ended beam has one continuation: itself.
        ended = tf.expand_dims(finished, 2)
        values = tf.where(ended, itself, values)
        new_sums = tf.expand_dims(sums, 2) + values
        candidates = new_sums  # (batch, width, number)
        if length_penalty:
            held = tf.expand_dims(scores, 2) + itself
            candidates = tf.where(ended, held, candidates / penalties[index])
        nothing = tf.math.is_nan(candidates)
        candidates = tf.where(nothing, -math.inf, candidates)
        candidates = tf.reshape(candidates, [batch, width * number])
        scores, flat = tf.math.top_k(candidates, width)  # (batch, width)

        flat = tf.reshape(flat + expand.first_rows * number, [-1])  # (rows,)
        rows = flat // number
        sums = scores
        if length_penalty:
            sums = tf.gather(tf.reshape(new_sums, [-1]), flat)
            sums = tf.reshape(sums, [batch, width])
        finished = tf.gather(tf.reshape(finished, [-1]), rows)
        new = {
            name: tf.gather(tf.reshape(each, [-1]), flat)
            for name, each in new.items()
        }
        token = new["tokens"] = tf.where(finished, end_ids[0], new["tokens"])
        written = expand.write(written, rows, new, index)
        ends = is_end(token, end_ids)
        finished = tf.reshape(finished | ends, [batch, width])
        finished |= tf.logical_not(scores > -math.inf)
        if has_limits:
            finished |= index == last
        return index + 1, token, finished, scores, sums, rows, written, after

    # At first each row has one beam; the others are there to be displaced.
    scores = tf.zeros([batch_size, 1]) + only_first(width)
    finished = scores < 0
    if has_limits:
        finished |= last < 0
    _, _, _, scores, _, rows, written, leaves = tf.while_loop(
        unfinished,
        advance,
        (
            tf.constant(0),
            expand.start,
            finished,
            scores,
            scores,
            tf.range(batch_size * width),
            expand.blank(),
            expand.layout.leaves,
        ),
    )
    return scores, written, leaves, rows
