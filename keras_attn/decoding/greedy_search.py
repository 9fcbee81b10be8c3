"""Greedy search: always the most probable token."""

from collections.abc import Callable
from collections.abc import Sequence

import tensorflow as tf

from keras_attn.decoding.loop import decode


def greedy(
    step: Callable,
    state,
    *,
    batch_size,
    max_length: int,
    start_id,
    end_id: int | Sequence[int],
    limits=None,
    forbidden_ids: Sequence[int] = (),
    begin_forbidden_ids: Sequence[int] = (),
    forced_start_id: int | None = None,
    forced_end_id: int | None = None,
    min_length: int = 0,
    repetition_penalty=1.0,
    no_repeat_ngram_size: int = 0,
    prompt=None,
    return_log_probs: bool = False,
    return_state: bool = False,
):
    """Write a sequence by taking the most probable token at each step.

        token[t] = argmax step(token[t - 1], state, t)

    One loop of the graph, which stops when all rows have ended. Equal logits:
    the lower id. Logits that are NaN give some id of the vocabulary.

    Args:
        step: `step(token, state, index) -> (logits, state)`: (rows,) int32
            and a number, 0 at first, to (rows, vocabulary).
        state: Nest of tensors; rows are the first axis of every leaf. A step
            keeps their shapes. What never changes is `constant` in a `State`.
        batch_size: Number of rows; a tensor where it is unknown.
        max_length: Most tokens to write.
        start_id: First token that is fed: a number, or (batch,).
        end_id: Ends a row and fills the rest of it; if -1, no row ends. Of
            several, any ends a row and the first fills it.
        limits: (batch,) integers, the most tokens of each row, if that is
            fewer than `max_length`; 0 for a row that is not wanted.
        forbidden_ids, begin_forbidden_ids: Ids that never come, or not first.
        forced_start_id, forced_end_id: What comes first; what comes last in a
            row that has not ended before. Both are stronger than what forbids.
        min_length: A row does not end before it has so many tokens.
        repetition_penalty, no_repeat_ngram_size, prompt: What has come, in
            `prompt`, (batch, length) ids with negative ones for none, or
            since, is made less likely; runs of so many tokens come once. See
            `Constraints`.
        return_log_probs: Whether to return each token's log-probability as
            well: the model's own, without anything that a search changes.
        return_state: Whether to return the state as well, each row's as it
            was at its end. This costs a pass over it in each step.

    Returns:
        (batch, max_length) int32 tokens, then what is asked for: (batch,
        max_length) float32 log-probabilities, 0 after the end; the state.

    Reference:
        Sutskever et al. 2014, section 3.2. https://arxiv.org/abs/1409.3215
    """

    def likeliest(logits, tokens, index):
        return tf.argmax(logits, axis=-1, output_type=tf.int32)

    return decode(
        step,
        likeliest,
        state,
        batch_size=batch_size,
        max_length=max_length,
        start_id=start_id,
        end_id=end_id,
        limits=limits,
        forbidden_ids=forbidden_ids,
        begin_forbidden_ids=begin_forbidden_ids,
        forced_start_id=forced_start_id,
        forced_end_id=forced_end_id,
        min_length=min_length,
        repetition_penalty=repetition_penalty,
        no_repeat_ngram_size=no_repeat_ngram_size,
        prompt=prompt,
        return_log_probs=return_log_probs,
        return_state=return_state,
    )
