"""The loop that greedy search and sampling share."""

from collections.abc import Sequence

import tensorflow as tf

from keras_attn.decoding import arguments
from keras_attn.decoding.answer_mask import answer_mask
from keras_attn.decoding.answer_mask import is_end
from keras_attn.decoding.logits.processors import Constraints
from keras_attn.decoding.state import StateLayout
from keras_attn.decoding.state import freeze
from keras_attn.decoding.stepping import log_probs_of
from keras_attn.decoding.stepping import stepper


def decode(
    step,
    choose,
    state,
    *,
    batch_size,
    max_length: int,
    start_id,
    end_id: int | Sequence[int],
    limits=None,
    return_log_probs: bool = False,
    return_state: bool = False,
    **constraints,
):
    """Choose token after token until every row has ended.

    Args:
        step: `step(token, state, index) -> (logits, state)`.
        choose: `choose(logits, tokens, index) -> (batch,)` tokens; `tokens`,
            (batch, max_length), holds those chosen before `index` and the
            first one, from `start_id`, at all later positions.
        state, batch_size, max_length, start_id, end_id, limits,
            return_log_probs, return_state: As in `keras_attn.decoding.greedy`.
        **constraints: As for `Constraints`.

    Returns:
        (batch, max_length) int32, then the log-probabilities and the state if
        asked for.
    """
    batch_size = arguments.size(batch_size)
    max_length = arguments.whole_number(max_length, "max_length", at_least=1)
    end_ids = arguments.end_ids(end_id)
    rules = Constraints(**constraints)
    if limits is not None:
        limits = arguments.limits(limits, batch_size)
    layout = StateLayout(state, batch_size)
    take = stepper(
        step,
        layout,
        end_ids=end_ids,
        forbidden_ids=rules.forbidden_ids,
        named_ids=rules.ids,
    )
    first = arguments.first_token(start_id, batch_size)
    process = rules.processor(first, end_ids)
    last = (max_length if limits is None else limits) - 1
    columns = tf.range(max_length)

    def unfinished(index, token, finished, *others):
        some = tf.logical_not(tf.reduce_all(finished))
        return tf.logical_and(index < max_length, some)

    def advance(index, token, finished, written, leaves):
        logits, allowed, after = take(token, leaves, index)
        if return_state:
            # As if the row had been alone and its loop had stopped.
            after = freeze(finished, leaves, after)
        if process is not None:
            allowed = process(allowed, written["tokens"], index)
        token = choose(allowed, written["tokens"], index)
        token = rules.force(token, index, last)
        new = {}
        if return_log_probs:
            new["log_probs"] = log_probs_of(logits, token)
        token = new["tokens"] = tf.where(finished, end_ids[0], token)
        here = columns == index
        written = {
            name: tf.where(here, tf.expand_dims(new[name], 1), old)
            for name, old in written.items()
        }
        finished = tf.logical_or(finished, is_end(token, end_ids))
        if limits is not None:
            finished = tf.logical_or(finished, index == last)
        return index + 1, token, finished, written, after

    finished = tf.zeros([batch_size], tf.bool) if limits is None else last < 0
    written = {"tokens": tf.repeat(first[:, None], max_length, axis=1)}
    if return_log_probs:
        written["log_probs"] = tf.zeros([batch_size, max_length])
    index, _, _, written, leaves = tf.while_loop(
        unfinished,
        advance,
        (tf.constant(0), first, finished, written, layout.leaves),
    )
    tokens = tf.where(columns < index, written["tokens"], end_ids[0])
    results = [tokens]
    if return_log_probs:
        limits = None if limits is None else limits[:, None]
        real = answer_mask(tokens, end_ids, limits)
        results.append(tf.where(real, written["log_probs"], 0.0))
    if return_state:
        results.append(layout.pack(leaves))
    return tuple(results) if len(results) > 1 else tokens
