"""Sampling: tokens by chance, as likely as the model finds them."""

from collections.abc import Callable
from collections.abc import Sequence

import tensorflow as tf

from keras_attn.decoding import arguments
from keras_attn.decoding import options
from keras_attn.decoding.logits import filters
from keras_attn.decoding.loop import decode
from keras_attn.decoding.row_random import draws
from keras_attn.decoding.row_random import pick


def sample(
    step: Callable,
    state,
    *,
    batch_size,
    max_length: int,
    start_id,
    end_id: int | Sequence[int],
    limits=None,
    temperature=1.0,
    top_k=0,
    top_p=1.0,
    min_p=0.0,
    repetition_penalty=1.0,
    seed=None,
    prompt=None,
    no_repeat_ngram_size: int = 0,
    forbidden_ids: Sequence[int] = (),
    begin_forbidden_ids: Sequence[int] = (),
    forced_start_id: int | None = None,
    forced_end_id: int | None = None,
    min_length: int = 0,
    return_log_probs: bool = False,
    return_state: bool = False,
):
    """Write a sequence by drawing each token from what the model predicts.

        token[t] ~ softmax(kept(penalised(logits[t]) / temperature))

        where logits[t] = step(token[t - 1], state, t)

    The penalty comes first, then the temperature, `top_k`, `top_p` of what
    that leaves, `min_p`. The five options are each a number, or (batch,) with
    one for each row. A row's tokens follow from its own logits, options and
    seed, whatever the batch. Values of tensors are not checked, but taken as
    the nearest that means something.

    Args:
        step, state, batch_size, max_length, start_id, end_id, limits, prompt,
            no_repeat_ngram_size, forbidden_ids, begin_forbidden_ids,
            forced_start_id, forced_end_id, min_length, return_log_probs,
            return_state: As in `greedy`.
        temperature: Divides the logits; 0 takes the most probable token.
        top_k: Draw from so many of the most probable tokens; 0 means all.
        top_p: Draw from the fewest most probable tokens that together are at
            least so probable.
        min_p: Draw from tokens at least so probable, relative to the most
            probable.
        repetition_penalty: Above 1, makes `prompt`, first and new tokens less
            likely to come (again).
        seed: None for other tokens each time; a number s, for the seeds (s, 0),
            (s, 1), ... of the rows; (batch,) numbers s, for (s, 0) each; or
            the rows' own pairs, (batch, 2).

    Returns:
        (batch, max_length) int32 tokens, then what is asked for, as `greedy`.

    Reference:
        Holtzman et al. 2020, section 3. https://arxiv.org/abs/1904.09751
    """
    batch_size = arguments.size(batch_size)
    max_length = arguments.whole_number(max_length, "max_length", at_least=1)

    settings = options.check_each(
        batch_size,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
    )
    temperature, top_k, top_p, min_p = settings
    always_cold = not tf.is_tensor(temperature) and temperature == 0
    always_warm = not tf.is_tensor(temperature) and temperature > 0
    chances = draws(seed, batch_size, max_length)

    def choose(logits, tokens, index):
        logits = tf.cast(logits, tf.float32)
        likeliest = tf.argmax(logits, axis=-1, output_type=tf.int32)
        if always_cold:
            return likeliest
        # From the top, or a low temperature would divide to infinity.
        logits -= tf.reduce_max(logits, axis=-1, keepdims=True)
        logits /= tf.where(temperature > 0, temperature, 1.0)
        logits = filters.keep_top(logits, top_k=top_k, top_p=top_p)
        logits = filters.keep_min_p(logits, min_p)
        drawn = pick(logits, tf.gather(chances, index, axis=1)[:, None])
        if always_warm:
            return drawn
        return tf.where(temperature[:, 0] > 0, drawn, likeliest)

    return decode(
        step,
        choose,
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
