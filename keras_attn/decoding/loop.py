"""The loop that greedy search and sampling share."""

import tensorflow as tf

from keras_attn.decoding import arguments
from keras_attn.decoding.state import StateLayout
from keras_attn.decoding.state import freeze
from keras_attn.decoding.stepping import stepper


def decode(
    step,
    choose,
    state,
    *,
    batch_size,
    max_length: int,
    start_id,
    end_id: int,
    forbidden_ids=(),
    forced_end_id: int | None = None,
    return_state: bool = False,
):
    """Choose token after token until every row has ended.

    Args:
        step: `step(token, state, index) -> (logits, state)`.
        choose: `choose(logits, tokens, index) -> (batch,)` tokens; `tokens`,
            (batch, max_length), holds those chosen before `index` and the
            first one, from `start_id`, in all later places.
        state, batch_size, max_length, start_id, end_id, forbidden_ids,
            forced_end_id, return_state: As in `keras_attn.decoding.greedy`.

    Returns:
        (batch, max_length) int32, then the state if asked for.
    """
    batch_size = arguments.size(batch_size)
    max_length = arguments.whole_number(max_length, "max_length", at_least=1)
    end_id = arguments.whole_number(end_id, "end_id")
    layout = StateLayout(state, batch_size)
    take = stepper(
        step,
        layout,
        max_length=max_length,
        end_id=end_id,
        forbidden_ids=forbidden_ids,
        forced_end_id=forced_end_id,
    )
    columns = tf.range(max_length)

    def unfinished(index, tokens, token, finished, leaves):
        some = tf.logical_not(tf.reduce_all(finished))
        return tf.logical_and(index < max_length, some)

    def advance(index, tokens, token, finished, leaves):
        logits, after = take(token, leaves, index)
        token = choose(logits, tokens, index)
        token = tf.where(finished, end_id, token)
        tokens = tf.where(columns == index, token[:, None], tokens)
        if return_state:
            # As if the row had been alone and its loop had stopped.
            after = freeze(finished, leaves, after)
        finished = tf.logical_or(finished, token == end_id)
        return index + 1, tokens, token, finished, after

    token = arguments.first_token(start_id, batch_size)
    tokens = tf.repeat(token[:, None], max_length, axis=1)
    finished = tf.zeros([batch_size], tf.bool)
    index, tokens, _, _, leaves = tf.while_loop(
        unfinished,
        advance,
        (tf.constant(0), tokens, token, finished, layout.leaves),
    )
    tokens = tf.where(columns < index, tokens, end_id)
    return (tokens, layout.pack(leaves)) if return_state else tokens
