"""How likely a model finds answers that are given."""

import tensorflow as tf

from keras_attn.decoding import arguments
from keras_attn.decoding.loop import decode
from keras_attn.decoding.protocol import check_generative
from keras_attn.decoding.stepping import log_probs_of


def score(model, inputs, answers, *, start_id, lengths):
    """Find the log-probability of each token of given answers.

        log_probs[t] = log p(answers[t] | inputs, answers[: t])

    In one pass where the model has `teacher_forced`, or else by steps.

    Args:
        model: A `GenerativeModel`.
        inputs: What its `encode` takes.
        answers: (batch, length) ids, at least one column.
        start_id: First token that is fed: a number, or (batch,).
        lengths: (batch,) integers, how many tokens of each row count.

    Returns:
        (batch, length) float32, 0 after the answers.

    Reference:
        Sutskever et al. 2014, section 3.1. https://arxiv.org/abs/1409.3215
    """
    check_generative(model)
    answers = tf.cast(answers, tf.int32)
    rows = tf.shape(answers)[0]
    start_id = arguments.first_token(start_id, rows)
    lengths = arguments.limits(lengths, rows)
    if not hasattr(model, "teacher_forced"):
        return _by_steps(model, inputs, answers, start_id, lengths)
    fed = tf.concat([start_id[:, None], answers[:, :-1]], axis=1)
    log_probs = log_probs_of(model.teacher_forced(inputs, fed), answers)
    real = tf.sequence_mask(lengths, tf.shape(answers)[1])
    return tf.where(real, log_probs, 0.0)


def _by_steps(model, inputs, answers, start_id, lengths):
    length = answers.shape[1]
    if length is None:
        raise ValueError(
            f"{type(model).__name__} has no `teacher_forced`, so answers are "
            "fed token by token, and their number must be known when the graph "
            "is made. Fill `answers` up to a length that is."
        )

    def follow(logits, tokens, index):
        return tf.gather(answers, index, axis=1)

    _, log_probs = decode(
        model.step,
        follow,
        model.encode(inputs, length),
        batch_size=tf.shape(answers)[0],
        max_length=length,
        start_id=start_id,
        end_id=-1,
        limits=lengths,
        return_log_probs=True,
    )
    return log_probs
