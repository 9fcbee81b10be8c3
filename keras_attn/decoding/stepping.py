"""One step of a model, in the form that the loops use."""

import tensorflow as tf

from keras_attn.decoding.arguments import whole_number


def stepper(step, layout, *, end_id: int, forbidden_ids=()):
    """Make a step that takes and gives leaves, and checks what comes back.

    Args:
        step: `step(token, state, index) -> (logits, state)`.
        layout: The `StateLayout` of the state.
        end_id: Must be in the vocabulary, or negative: then no row ends.
        forbidden_ids: Ids that get the logit -inf.

    Returns:
        A function (token, leaves, index) -> (logits, leaves).
    """
    forbidden_ids = [
        whole_number(number, "forbidden_ids", at_least=0)
        for number in forbidden_ids
    ]

    def take(token, leaves, index):
        # Fillers of rows that are no more: any id of the vocabulary will do.
        token = tf.maximum(token, 0) if end_id < 0 else token
        logits, state = step(token, layout.pack(leaves), index)
        logits = tf.convert_to_tensor(logits)
        _check_logits(logits, token, [end_id, *forbidden_ids])
        if forbidden_ids:
            hidden = tf.one_hot(
                forbidden_ids,
                logits.shape[-1],
                on_value=-float("inf"),
                off_value=0.0,
                dtype=logits.dtype,
            )
            logits += tf.reduce_min(hidden, axis=0)
        return logits, layout.unpack(state, leaves)

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
            "`end_id` and `forbidden_ids` must be ids of the vocabulary, less "
            f"than {vocabulary}, the width of the logits. Received: {max(ids)}"
            ". For rows that never end, give end_id=-1."
        )
