"""Beam search: several hypotheses for each row, the best ones kept."""

import math
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_attn.decoding import arguments
from keras_attn.decoding.answer_mask import answer_mask
from keras_attn.decoding.chunked_top_k import likeliest
from keras_attn.decoding.state import StateLayout
from keras_attn.decoding.state import freeze
from keras_attn.decoding.stepping import log_probs_of
from keras_attn.decoding.stepping import stepper


def beam(
    step: Callable,
    state,
    *,
    batch_size,
    max_length: int,
    start_id,
    end_id: int,
    limits=None,
    width: int = 4,
    length_penalty: float = 0.0,
    num_results: int = 1,
    forbidden_ids: Sequence[int] = (),
    forced_end_id: int | None = None,
    return_log_probs: bool = False,
    return_state: bool = False,
):
    """Write the sequences that score best, going forward with `width` at once.

        score = Σ log p(token[t]) / ((5 + length) / 6)^length_penalty

    The length counts the end. In each step all continuations of a row's
    beams, and its ended beams as they are, compete for `width` slots. Equal
    scores: the continuation of the better beam, then the likelier token, then
    the lower id. The loop stops when no row's results can change any more.

    Args:
        step, state, batch_size, max_length, start_id, end_id, limits,
            forbidden_ids, forced_end_id, return_log_probs: As in `greedy`;
            log p of what is forced is 0 in the score. The state has
            `batch_size` rows; `step` is given `batch_size` · `width`, the
            beams of a row one after the other.
        width: Number of beams for each row.
        length_penalty: 0 ranks by probability; more favours longer answers.
        num_results: How many of the best to return for each row.
        return_state: Whether to return the state as well, gathered along the
            paths of the results: (batch · num_results, ...) leaves.

    Returns:
        (batch, num_results, max_length) int32 tokens and (batch, num_results)
        float32 scores, best first; then what is asked for: log-probabilities
        like the tokens, the state. If a row has fewer results than asked for
        (a vocabulary smaller than `width`, logits of -inf or NaN), the rest
        score -inf and hold `end_id` only.

    Reference:
        Wu et al. 2016, section 7, equation 14. https://arxiv.org/abs/1609.08144
    """
    batch_size = arguments.size(batch_size)
    max_length = arguments.whole_number(max_length, "max_length", at_least=1)
    end_id = arguments.whole_number(end_id, "end_id")
    width = arguments.whole_number(width, "width", at_least=1)
    if limits is not None:
        limits = arguments.limits(limits, batch_size)
    _check(num_results, width, length_penalty)
    # What sums are divided by, for lengths from 1: (max_length,).
    lengths = np.arange(1, max_length + 1)
    penalties = tf.constant(((5 + lengths) / 6) ** length_penalty, tf.float32)

    layout = StateLayout(state, batch_size)
    beams = layout.repeated(width, batch_size)
    take = stepper(
        step,
        beams,
        end_id=end_id,
        forbidden_ids=forbidden_ids,
        forced_end_id=forced_end_id,
    )
    last = max_length - 1 if limits is None else limits[:, None] - 1
    columns = tf.range(max_length)
    first_rows = tf.range(batch_size)[:, None] * width
    # Where the number is not known, a shape that needs no op to make it.
    batch = -1 if tf.is_tensor(batch_size) else batch_size
    # A forced end has a log-probability of its own, and so has a token if
    # others are forbidden.
    as_scored = forced_end_id is None and not forbidden_ids

    def unfinished(index, token, finished, scores, sums, rows, *others):
        settled = tf.reduce_all(finished[:, :num_results], axis=-1)
        if length_penalty:
            # What a beam has lost it cannot win back, only see divided by more.
            alive = tf.where(finished, -math.inf, sums) / penalties[-1]
            hope = tf.reduce_max(alive, axis=-1)
            settled &= hope <= scores[:, num_results - 1]
        some = tf.logical_not(tf.reduce_all(settled))
        return tf.logical_and(index < max_length, some)

    def advance(index, token, finished, scores, sums, rows, written, leaves):
        # Not at the end of the step before: here XLA gathers a cache and
        # writes to it in one pass.
        leaves = [tf.gather(leaf, rows) for leaf in leaves]
        logits, allowed, after = take(token, leaves, index)
        if return_state:
            after = freeze(tf.reshape(finished, [-1]), leaves, after)
        # Of one beam, no more than `width` continuations can find a slot.
        number = min(width, logits.shape[-1])
        _, ids = likeliest(tf.cast(allowed, tf.float32), number)
        values = log_probs_of(allowed, ids)  # (rows, number)
        own = values
        values = tf.reshape(values, [batch, width, number])
        itself = tf.constant([0.0] + [-math.inf] * (number - 1))
        if forced_end_id is not None:
            forced = tf.reshape(index == last, [-1, 1, 1])
            values = tf.where(forced, itself, values)
            ids = tf.reshape(ids, [batch, width, number])
            ids = tf.where(forced, forced_end_id, ids)
            ids = tf.reshape(ids, [-1, number])
        if return_log_probs and not as_scored:
            own = log_probs_of(logits, ids)

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

        flat = tf.reshape(flat + first_rows * number, [-1])  # (rows,)
        rows = flat // number
        sums = scores
        if length_penalty:
            sums = tf.gather(tf.reshape(new_sums, [-1]), flat)
            sums = tf.reshape(sums, [batch, width])
        finished = tf.gather(tf.reshape(finished, [-1]), rows)
        token = tf.gather(tf.reshape(ids, [-1]), flat)
        token = tf.where(finished, end_id, token)
        new = {"tokens": token}
        if return_log_probs:
            new["log_probs"] = tf.gather(tf.reshape(own, [-1]), flat)
        here = columns == index
        written = {
            name: tf.where(
                here, tf.expand_dims(new[name], 1), tf.gather(old, rows)
            )
            for name, old in written.items()
        }
        finished = tf.reshape(finished | (token == end_id), [batch, width])
        finished |= tf.logical_not(scores > -math.inf)
        if limits is not None:
            finished |= index == last
        return index + 1, token, finished, scores, sums, rows, written, after

    # At first each row has one beam; the others are there to be displaced.
    first = tf.constant([0.0] + [-math.inf] * (width - 1))
    scores = tf.zeros([batch_size, 1]) + first
    finished = scores < 0
    if limits is not None:
        finished |= last < 0
    token = arguments.first_token(start_id, batch_size)
    written = {"tokens": tf.fill([batch_size * width, max_length], end_id)}
    if return_log_probs:
        written["log_probs"] = tf.zeros([batch_size * width, max_length])
    _, _, _, scores, _, rows, written, leaves = tf.while_loop(
        unfinished,
        advance,
        (
            tf.constant(0),
            tf.repeat(token, width),
            finished,
            scores,
            scores,
            tf.range(batch_size * width),
            written,
            beams.leaves,
        ),
    )
    scores = scores[:, :num_results]
    exists = scores[:, :, None] > -math.inf
    written = {
        name: tf.reshape(each, [batch_size, width, max_length])[:, :num_results]
        for name, each in written.items()
    }
    tokens = tf.where(exists, written["tokens"], end_id)
    results = [tokens, scores]
    if return_log_probs:
        limits = None if limits is None else limits[:, None, None]
        real = answer_mask(tokens, end_id, limits)
        log_probs = tf.where(real, written["log_probs"], 0.0)
        results.append(tf.where(exists, log_probs, -math.inf))
    if return_state:
        best = tf.reshape(first_rows + tf.range(num_results), [-1])
        found = layout.repeated(num_results, batch_size)
        best = tf.gather(rows, best)
        results.append(found.pack([tf.gather(x, best) for x in leaves]))
    return tuple(results)


def _check(num_results, width, length_penalty):
    arguments.whole_number(num_results, "num_results", at_least=1)
    if num_results > width:
        raise ValueError(
            "`num_results` can be at most `width`: a search with so many beams "
            f"ends with so many answers. Received: num_results={num_results}, "
            f"width={width}"
        )
    if not 0 <= length_penalty < math.inf:
        raise ValueError(
            "`length_penalty` must be a number of at least 0, which ranks by "
            f"probability. Received: length_penalty={length_penalty}"
        )
