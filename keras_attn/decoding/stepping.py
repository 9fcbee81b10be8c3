"""One step of a model, in the form that the loops use."""

import tensorflow as tf

from keras_attn.decoding.arguments import whole_number


def stepper(
    step,
    layout,
    *,
    max_length: int,
    end_id: int,
    forbidden_ids=(),
    forced_end_id: int | None = None,
):
    """Make a step that takes and gives leaves, and checks what comes back.

    Args:
        step: `step(token, state, index) -> (logits, state)`.
        layout: The `StateLayout` of the state.
        max_length: Number of steps.
        end_id: Must be in the vocabulary, or negative: then no row ends.
        forbidden_ids: Ids that get the logit -inf.
        forced_end_id: In the last step, all other ids get it.

    Returns:
        A function (token, leaves, index) -> (logits, leaves).
    """
    forbidden_ids = [
        whole_number(number, "forbidden_ids", at_least=0)
        for number in forbidden_ids
    ]
    forced = []
    if forced_end_id is not None:
        forced = [whole_number(forced_end_id, "forced_end_id", at_least=0)]

    def take(token, leaves, index):
        # Fillers of rows that are no more: any id of the vocabulary will do.
        token = tf.maximum(token, 0) if end_id < 0 else token
        logits, state = step(token, layout.pack(leaves), index)
        logits = tf.convert_to_tensor(logits)
        _check_logits(logits, token, [end_id, *forbidden_ids, *forced])
        if forbidden_ids:
            hidden = tf.one_hot(
                forbidden_ids,
                logits.shape[-1],
                on_value=-float("inf"),
                off_value=0.0,
                dtype=logits.dtype,
            )
            logits += tf.reduce_min(hidden, axis=0)
        if forced:
            only = tf.one_hot(
                forced,
                logits.shape[-1],
                on_value=0.0,
                off_value=-float("inf"),
                dtype=logits.dtype,
            )
            logits = tf.where(index == max_length - 1, only, logits)
        return logits, layout.unpack(state)

    return take


def _check_logits(logits, token, ids):
    shape = logits.shape
    known = shape.rank == 2 and shape[1] is not None
    if not known or not shape[:1].is_compatible_with(token.shape):
        raise ValueError(
            "`step` must return logits (rows, vocabulary), a row for each "
            "token and a vocabulary that is known when the graph is made. "
            f"Received: logits.shape={shape} for token.shape={token.shape}"
        )
    vocabulary = shape[1]
    if max(ids) >= vocabulary:
        raise ValueError(
            "`end_id`, `forbidden_ids` and `forced_end_id` must be ids of the "
            f"vocabulary, less than {vocabulary}, the width of the logits. "
            f"Received: {max(ids)}. For rows that never end, give end_id=-1."
        )
