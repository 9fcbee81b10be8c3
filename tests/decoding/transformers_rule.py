"""What transformers' searches are documented to do, in plain Python."""

import numpy as np

from tests.decoding import markov


def constrained(
    scores,
    history,
    number,
    *,
    max_length,
    end_ids,
    repetition_penalty=1.0,
    no_repeat_ngram_size=0,
    forbidden_ids=(),
    min_length=0,
    begin_forbidden_ids=(),
    forced_start_id=None,
    forced_end_id=None,
):
    """Apply the processors in their order, for one row.

    Args:
        scores: (vocabulary,).
        history: All tokens before, prompt and start included.
        number: How many of them are new.
    """
    scores = scores.copy()
    for token in set(history):
        value = scores[token]
        scores[token] = (
            value * repetition_penalty
            if value < 0
            else value / repetition_penalty
        )
    size = no_repeat_ngram_size
    if size:
        prefix = history[len(history) - size + 1 :]
        for place in range(len(history) - size + 1):
            run = history[place : place + size]
            if run[:-1] == prefix:
                scores[run[-1]] = -np.inf
    scores[list(forbidden_ids)] = -np.inf
    if number < min_length:
        scores[list(end_ids)] = -np.inf
    if number == (forced_start_id is not None):
        scores[list(begin_forbidden_ids)] = -np.inf
    forced = {0: forced_start_id, max_length - 1: forced_end_id}.get(number)
    if max_length == 1 and forced_end_id is not None:
        forced = forced_end_id
    if forced is not None:
        scores[:] = -np.inf
        scores[forced] = 0
    return scores


def greedy(table, start, *, max_length, end_ids, prompt=(), **settings):
    """The best token of constrained logits: a list of `max_length`."""
    tokens = []
    while len(tokens) < max_length and not set(tokens) & set(end_ids):
        fed = [0, start, *tokens]
        logits = table[fed[-2], fed[-1]] * (1 + len(tokens) / markov.GROWTH)
        scores = constrained(
            logits.astype("float64"),
            [*prompt, start, *tokens],
            len(tokens),
            max_length=max_length,
            end_ids=end_ids,
            **settings,
        )
        tokens.append(int(np.argmax(scores)))
    return filled(tokens, end_ids, max_length)


def beam(
    table,
    start,
    *,
    max_length,
    end_ids,
    width,
    length_penalty=1.0,
    early_stopping=False,
    prompt=(),
    **settings,
):
    """A pool of ended beams beside those that run: [(tokens, score)]."""
    running, pool = [([], 0.0)], []
    for length in range(1, max_length + 1):
        candidates = []
        for tokens, total in running:
            scores = constrained(
                markov.log_probabilities(table, start, tokens),
                [*prompt, start, *tokens],
                len(tokens),
                max_length=max_length,
                end_ids=end_ids,
                **settings,
            )
            candidates += [
                ([*tokens, token], total + score)
                for token, score in enumerate(scores)
                if score > -np.inf
            ]
        candidates.sort(key=lambda candidate: -candidate[1])
        candidates = candidates[: max(2, 1 + len(end_ids)) * width]
        running = []
        for rank, (tokens, total) in enumerate(candidates):
            if tokens[-1] not in end_ids and length < max_length:
                running.append((tokens, total))
            elif rank < width:
                pool.append((tokens, total / length**length_penalty))
        running = running[:width]
        pool = sorted(pool, key=lambda answer: -answer[1])[:width]
        if not running:
            break
        if len(pool) < width:
            continue
        at_best = length
        if early_stopping == "never" and length_penalty > 0:
            at_best = max_length
        hope = running[0][1] / at_best**length_penalty
        if early_stopping is True or hope <= pool[-1][1]:
            break
    return [(filled(tokens, end_ids, max_length), x) for tokens, x in pool]


def filled(tokens, end_ids, max_length):
    return tokens + [end_ids[0]] * (max_length - len(tokens))
