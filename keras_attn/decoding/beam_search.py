"""Beam search: several hypotheses for each row, the best ones kept."""

import math
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_attn.decoding import arguments
from keras_attn.decoding.chunked_top_k import likeliest
from keras_attn.decoding.state import StateLayout
from keras_attn.decoding.state import freeze
from keras_attn.decoding.state import gather
from keras_attn.decoding.stepping import stepper


def beam(
    step: Callable,
    state,
    *,
    batch_size,
    max_length: int,
    start_id,
    end_id: int,
    width: int = 4,
    length_penalty: float = 0.0,
    num_results: int = 1,
    forbidden_ids: Sequence[int] = (),
    forced_end_id: int | None = None,
    return_state: bool = False,
):
    """Write the sequences that score best, going forward with `width` at once.

        score = Σ log p(token[t]) / ((5 + length) / 6)^length_penalty

    The length counts the end. In each step all continuations of a row's
    beams, and its ended beams as they are, compete for `width` places. Equal
    scores: the continuation of the better beam, then the likelier token, then
    the lower id. The loop stops when no row's results can change any more.

    Args:
        step, state, batch_size, max_length, start_id, end_id, forbidden_ids,
            forced_end_id: As in `greedy`; log p of what is forced is 0. The
            state has `batch_size` rows; `step` is given `batch_size` · `width`,
            the beams of a row one after the other.
        width: Number of beams for each row.
        length_penalty: 0 ranks by probability; more favours longer answers.
        num_results: How many of the best to return for each row.
        return_state: Whether to return the state as well, gathered along the
            paths of the results: (batch · num_results, ...) leaves.

    Returns:
        (batch, num_results, max_length) int32 tokens and (batch, num_results)
        float32 scores, best first; then the state if asked for. If a row has
        fewer results than asked for (a vocabulary smaller than `width`, logits
        of -inf or NaN), the rest score -inf and hold `end_id` only.

    Reference:
        Wu et al. 2016, section 7, equation 14. https://arxiv.org/abs/1609.08144
    """
    batch_size = arguments.size(batch_size)
    max_length = arguments.whole_number(max_length, "max_length", at_least=1)
    end_id = arguments.whole_number(end_id, "end_id")
    width = arguments.whole_number(width, "width", at_least=1)
    _check_results(num_results, width)
    penalties = _penalties(length_penalty, max_length)

    layout = StateLayout(state, batch_size)
    beams = layout.repeated(width, batch_size)
    take = stepper(
        step,
        beams,
        max_length=max_length,
        end_id=end_id,
        forbidden_ids=forbidden_ids,
        forced_end_id=forced_end_id,
    )
    columns = tf.range(max_length)

    def unfinished(index, tokens, token, finished, scores, sums, rows, leaves):
        ended = tf.reshape(finished, [batch_size, width])
        settled = tf.reduce_all(ended[:, :num_results], axis=-1)
        if length_penalty:
            # What a beam has lost it cannot win back, only see divided by more.
            alive = tf.where(ended, -math.inf, sums) / penalties[-1]
            hope = tf.reduce_max(alive, axis=-1)
            settled &= hope <= scores[:, num_results - 1]
        some = tf.logical_not(tf.reduce_all(settled))
        return tf.logical_and(index < max_length, some)

    def advance(index, tokens, token, finished, scores, sums, rows, leaves):
        # Not at the end of the step before: here XLA gathers a cache and
        # writes to it in one pass.
        leaves = gather(leaves, rows)
        logits, after = take(token, leaves, index)
        if return_state:
            after = freeze(finished, leaves, after)
        logits = tf.cast(logits, tf.float32)
        # Of one beam, no more than `width` continuations can find a place.
        number = min(width, logits.shape[-1])
        shape = [batch_size, width, number]
        values, ids = likeliest(logits, number)
        values -= tf.reduce_logsumexp(logits, axis=-1, keepdims=True)

        # An ended beam has one continuation: itself.
        ended = tf.reshape(finished, [batch_size, width, 1])
        itself = tf.constant([0.0] + [-math.inf] * (number - 1))
        values = tf.where(ended, itself, tf.reshape(values, shape))
        ids = tf.where(ended, end_id, tf.reshape(ids, shape))

        new_sums = sums[:, :, None] + values
        candidates = new_sums
        if length_penalty:
            candidates /= penalties[index]
            held = scores[:, :, None] + itself
            candidates = tf.where(ended, held, candidates)
        nothing = tf.math.is_nan(candidates)
        candidates = tf.where(nothing, -math.inf, candidates)
        candidates = tf.reshape(candidates, [batch_size, width * number])
        scores, places = tf.math.top_k(candidates, width)  # (batch, width)

        places += tf.range(batch_size)[:, None] * (width * number)
        places = tf.reshape(places, [-1])  # (rows,)
        rows = places // number
        token = tf.gather(tf.reshape(ids, [-1]), places)
        sums = scores
        if length_penalty:
            sums = tf.gather(tf.reshape(new_sums, [-1]), places)
            sums = tf.reshape(sums, [batch_size, width])
        impossible = tf.reshape(tf.logical_not(scores > -math.inf), [-1])
        finished = tf.gather(finished, rows) | impossible | (token == end_id)
        tokens = tf.gather(tokens, rows)
        tokens = tf.where(columns == index, token[:, None], tokens)
        return index + 1, tokens, token, finished, scores, sums, rows, after

    # At first each row has one beam; the others are there to be displaced.
    first = tf.constant([0.0] + [-math.inf] * (width - 1))
    scores = tf.zeros([batch_size, 1]) + first
    token = arguments.first_token(start_id, batch_size)
    _, tokens, _, _, scores, _, rows, leaves = tf.while_loop(
        unfinished,
        advance,
        (
            tf.constant(0),
            tf.fill([batch_size * width, max_length], end_id),
            tf.repeat(token, width),
            tf.reshape(scores < 0, [-1]),
            scores,
            scores,
            tf.range(batch_size * width),
            beams.leaves,
        ),
    )
    tokens = tf.reshape(tokens, [batch_size, width, max_length])
    tokens, scores = tokens[:, :num_results], scores[:, :num_results]
    tokens = tf.where(scores[:, :, None] > -math.inf, tokens, end_id)
    if not return_state:
        return tokens, scores
    results = tf.range(batch_size)[:, None] * width + tf.range(num_results)
    rows = tf.gather(rows, tf.reshape(results, [-1]))
    found = layout.repeated(num_results, batch_size)
    return tokens, scores, found.pack(gather(leaves, rows))


def _check_results(num_results, width):
    arguments.whole_number(num_results, "num_results", at_least=1)
    if num_results > width:
        raise ValueError(
            "`num_results` can be at most `width`: a search with so many beams "
            f"ends with so many answers. Received: num_results={num_results}, "
            f"width={width}"
        )


def _penalties(length_penalty, max_length):
    """What sums are divided by, for lengths from 1: (max_length,)."""
    if not 0 <= length_penalty < math.inf:
        raise ValueError(
            "`length_penalty` must be a number of at least 0, which ranks by "
            f"probability. Received: length_penalty={length_penalty}"
        )
    lengths = np.arange(1, max_length + 1)
    return tf.constant(((5 + lengths) / 6) ** length_penalty, tf.float32)
