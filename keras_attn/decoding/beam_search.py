"""Beam search: several hypotheses for each row, the best ones kept."""

import math
from collections.abc import Callable
from collections.abc import Sequence

import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.decoding import arguments
from keras_attn.decoding.answer_mask import answer_mask
from keras_attn.decoding.beams import huggingface
from keras_attn.decoding.beams import textbook
from keras_attn.decoding.beams.expansion import Expansion
from keras_attn.decoding.beams.huggingface import num_candidates
from keras_attn.decoding.logits.processors import Constraints
from keras_attn.decoding.state import StateLayout


def beam(
    step: Callable,
    state,
    *,
    batch_size,
    max_length: int,
    start_id,
    end_id: int | Sequence[int],
    limits=None,
    width: int = 4,
    length_penalty: float = 0.0,
    num_results: int = 1,
    rule: str = "textbook",
    early_stopping: bool | str = False,
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
    """Write the sequences that score best, going forward with `width` at once.

        score = Σ log p(token[t]) / ((5 + length) / 6)^length_penalty

    The length counts the end. In each step all continuations of a row's
    beams, and its ended beams as they are, compete for `width` slots. Equal
    scores: the continuation of the better beam, then the likelier token, then
    the lower id. The loop stops when no row's results can change any more.
    `rule="huggingface"` is transformers' way: see `beams/huggingface.py`.

    Args:
        step, state, batch_size, max_length, start_id, end_id, limits, prompt,
            repetition_penalty, no_repeat_ngram_size, forbidden_ids,
            begin_forbidden_ids, forced_start_id, forced_end_id, min_length,
            return_log_probs: As in `greedy`. In the score, log p of what is
            forced is 0; penalties change log p, and what is forbidden leaves
            it as it is, but by the textbook `forbidden_ids` do not. The state
            has `batch_size` rows; `step` is given `batch_size` · `width`, the
            beams of a row one after the other.
        width: Number of beams for each row.
        length_penalty: 0 ranks by probability; more favours longer answers.
        num_results: How many of the best to return for each row.
        rule: "textbook", or "huggingface", which divides by length to the
            penalty and has a pool for ended beams.
        early_stopping: False, True or "never", for "huggingface".
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
    end_ids = arguments.end_ids(end_id)
    width = arguments.whole_number(width, "width", at_least=1)
    if limits is not None:
        limits = arguments.limits(limits, batch_size)
    _check(num_results, width, length_penalty, rule, early_stopping)
    constraints = Constraints(
        forbidden_ids=forbidden_ids,
        begin_forbidden_ids=begin_forbidden_ids,
        forced_start_id=forced_start_id,
        forced_end_id=forced_end_id,
        min_length=min_length,
        repetition_penalty=repetition_penalty,
        no_repeat_ngram_size=no_repeat_ngram_size,
        prompt=prompt,
    )
    textbook_rule = rule == "textbook"
    layout = StateLayout(state, batch_size)
    expand = Expansion(
        step,
        layout.repeated(width, batch_size),
        start_id=arguments.first_token(start_id, batch_size),
        batch_size=batch_size,
        max_length=max_length,
        width=width,
        # Of one beam, no more continuations can find a slot.
        number=width if textbook_rule else num_candidates(width, len(end_ids)),
        end_ids=end_ids,
        last=max_length - 1 if limits is None else limits[:, None] - 1,
        constraints=constraints,
        renormalise=textbook_rule,
        with_log_probs=return_log_probs,
    )
    if textbook_rule:
        scores, written, leaves, rows = textbook.search(
            expand,
            length_penalty=length_penalty,
            num_results=num_results,
            has_limits=limits is not None,
            keep_state=return_state,
        )
    else:
        scores, written, leaves, rows = huggingface.search(
            expand,
            length_penalty=length_penalty,
            early_stopping=early_stopping,
            keep_state=return_state,
        )
    scores = scores[:, :num_results]
    exists = scores[:, :, None] > -math.inf
    written = {
        name: tf.reshape(each, [batch_size, width, max_length])[:, :num_results]
        for name, each in written.items()
    }
    tokens = tf.where(exists, written["tokens"], end_ids[0])
    results = [tokens, scores]
    if return_log_probs:
        limits = None if limits is None else limits[:, None, None]
        real = answer_mask(tokens, end_ids, limits)
        log_probs = tf.where(real, written["log_probs"], 0.0)
        results.append(tf.where(exists, log_probs, -math.inf))
    if return_state:
        best = expand.first_rows + tf.range(num_results)
        best = tf.gather(rows, tf.reshape(best, [-1]))
        found = layout.repeated(num_results, batch_size)
        results.append(found.pack([tf.gather(x, best) for x in leaves]))
    return tuple(results)


def _check(num_results, width, length_penalty, rule, early_stopping):
    argument_checks.choice(rule, "rule", ("textbook", "huggingface"))
    if rule == "textbook" and early_stopping is not False:
        raise ValueError(
            '`early_stopping` belongs to the rule "huggingface"; the textbook '
            "stops when no result can change. Received: "
            f"early_stopping={early_stopping!r}"
        )
    if early_stopping not in (False, True, "never"):
        raise ValueError(
            '`early_stopping` must be False, True or "never". Received: '
            f"early_stopping={early_stopping!r}"
        )
    arguments.whole_number(num_results, "num_results", at_least=1)
    if num_results > width:
        raise ValueError(
            "`num_results` can be at most `width`: a search with so many beams "
            f"ends with so many answers. Received: num_results={num_results}, "
            f"width={width}"
        )
    lowest = 0 if rule == "textbook" else -math.inf
    if not lowest <= length_penalty < math.inf or length_penalty == -math.inf:
        raise ValueError(
            "`length_penalty` must be a number of at least 0, which ranks by "
            'probability; by the rule "huggingface", any number. Received: '
            f"length_penalty={length_penalty}"
        )
