"""One step of a model, in the form that the loops use."""

from collections.abc import Sequence

import tensorflow as tf

from keras_attn.decoding.logits.processors import hidden


def stepper(
    step,
    layout,
    *,
    end_ids: Sequence[int],
    forbidden_ids: Sequence[int] = (),
    named_ids: Sequence[int] = (),
):
    """Make a step that takes and gives leaves, and checks what comes back.

    All checks are made while the graph is: none of them is an op in it.

    Args:
        step: `step(token, state, index) -> (logits, state)`.
        layout: The `StateLayout` of the state.
        end_ids: Must be in the vocabulary, or negative: then no row ends.
        forbidden_ids: Ids that get the logit -inf.
        named_ids: Further ids that must be in the vocabulary.

    Returns:
        A function (token, leaves, index) -> (logits, allowed, leaves): the
        model's own logits, and those to choose from.
    """

    def take(token, leaves, index):
        # Fillers of rows that are no more: any id of the vocabulary will do.
        token = tf.maximum(token, 0) if end_ids[0] < 0 else token
        logits, state = step(token, layout.pack(leaves), index)
        logits = tf.convert_to_tensor(logits)
        _check_logits(logits, token, [*end_ids, *forbidden_ids, *named_ids])
        allowed = logits
        if forbidden_ids:
            allowed += hidden(forbidden_ids, logits)
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
            "`end_id` and what is forbidden or forced must be ids of the "
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
