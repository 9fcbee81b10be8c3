"""One step of a model, in the form that the loops use."""

import numpy as np
import tensorflow as tf

from keras_attn.decoding.arguments import whole_number


def stepper(
    step,
    layout,
    *,
    end_id: int,
    forbidden_ids=(),
    forced_end_id: int | None = None,
):
    """Make a step that takes and gives leaves, and checks what comes back.

    All checks are made while the graph is: none of them is an op in it.

    Args:
        step: `step(token, state, index) -> (logits, state)`.
        layout: The `StateLayout` of the state.
        end_id: Must be in the vocabulary, or negative: then no row ends.
        forbidden_ids: Ids that get the logit -inf.
        forced_end_id: Must be in the vocabulary, or None.

    Returns:
        A function (token, leaves, index) -> (logits, allowed, leaves): the
        model's own logits, and those to choose from.
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
        allowed = logits
        if forbidden_ids:
            hidden = np.zeros(logits.shape[-1])
            hidden[forbidden_ids] = -np.inf
            allowed += tf.constant(hidden, logits.dtype)
        return logits, allowed, layout.unpack(state)

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


def log_probs_of(logits, ids):
    """Log-probabilities of some tokens under a model's own distribution.

    Args:
        logits: (..., vocabulary).
        ids: (..., number) or (...,).

    Returns:
        Like `ids`, float32.
    """
    # One op each; a logarithm of a sum of exponentials is ten.
    log_probs = tf.nn.log_softmax(tf.cast(logits, tf.float32))
    return tf.gather(log_probs, ids, batch_dims=logits.shape.rank - 1)
