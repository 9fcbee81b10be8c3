"""Random language models small enough for plain Python to search."""

import itertools

import numpy as np
import tensorflow as tf

from keras_attn.base.state import State

END = 0
GROWTH = 32  # steps until logits have doubled


def tables(rng, rows, vocabulary, *, spread=1.5):
    """One second-order Markov model for each row.

    `table[row, before, token]` holds the logits of what comes next. They grow
    from step to step, or the same transitions in another order would tie.
    """
    size = (rows, vocabulary, vocabulary, vocabulary)
    return (spread * rng.normal(size=size)).astype("float32")


def state(table, max_length):
    """The table, which never changes, and a record of what was fed."""
    rows = tf.shape(table)[0]
    carried = {
        "before": tf.zeros([rows], tf.int32),
        "history": tf.fill([rows, max_length], -1),
        "steps": tf.zeros([rows], tf.int32),
    }
    return State(carried, {"table": tf.convert_to_tensor(table)})


def step(token, state, index):
    before, history = state.carried["before"], state.carried["history"]
    places = tf.stack([before, token], axis=-1)
    here = tf.range(history.shape[1]) == index
    logits = tf.gather_nd(state.constant["table"], places, batch_dims=1)
    carried = {
        "before": token,
        "history": tf.where(here, token[:, None], history),
        "steps": state.carried["steps"] + 1,
    }
    logits *= 1 + tf.cast(index, tf.float32) / GROWTH
    return logits, state._replace(carried=carried)


def log_probabilities(table, start, tokens):
    """Of the next token after `tokens`, for one row: (vocabulary,)."""
    fed = [0, start, *tokens]
    logits = table[fed[-2], fed[-1]].astype("float64")
    logits = logits * (1 + len(tokens) / GROWTH)
    return logits - np.log(np.exp(logits).sum())


def score(total, length, length_penalty):
    return total / ((5 + length) / 6) ** length_penalty


def greedy(table, start, max_length):
    """Greedy search for one row, from its definition."""
    tokens = []
    while len(tokens) < max_length and END not in tokens:
        tokens.append(int(np.argmax(log_probabilities(table, start, tokens))))
    return filled(tokens, max_length)


def beam(
    table,
    start,
    *,
    max_length,
    width,
    length_penalty,
    ends=(END,),
    changed=lambda values, tokens: values,
):
    """Beam search for one row, from its definition: [(tokens, score)].

    `changed` makes others of the log-probabilities after `tokens`.
    """
    pool = [([], 0.0)]
    for _ in range(max_length):
        candidates = []
        for rank, (tokens, total) in enumerate(pool):
            if set(ends) & set(tokens):
                value = score(total, len(tokens), length_penalty)
                candidates.append((-value, rank, 0.0, 0, tokens, total))
                continue
            following = log_probabilities(table, start, tokens)
            following = changed(following, tokens)
            for token, more in enumerate(following):
                longer = [*tokens, token]
                value = score(total + more, len(longer), length_penalty)
                candidates.append(
                    (-value, rank, -more, token, longer, total + more)
                )
        pool = [candidate[4:] for candidate in sorted(candidates)[:width]]
    return [
        (
            filled(tokens, max_length, ends[0]),
            score(total, len(tokens), length_penalty),
        )
        for tokens, total in pool
    ]


def brute_force(table, start, *, max_length, length_penalty):
    """Every sequence there is, best first: [(tokens, score)]."""
    answers = {}
    for tokens in itertools.product(range(table.shape[0]), repeat=max_length):
        tokens = list(tokens)
        if END in tokens:
            tokens = tokens[: tokens.index(END) + 1]
        total = sum(
            log_probabilities(table, start, tokens[:place])[token]
            for place, token in enumerate(tokens)
        )
        answers[tuple(filled(tokens, max_length))] = score(
            total, len(tokens), length_penalty
        )
    return sorted(answers.items(), key=lambda answer: -answer[1])


def filled(tokens, max_length, end=END):
    return tokens + [end] * (max_length - len(tokens))
