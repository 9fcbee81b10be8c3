"""Runs of tokens that come once, against plain Python."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding.logits.repeated_ngrams import forbid_repeats

VOCABULARY = 4


def forbidden(history, size):
    """What would end a run of `size` tokens that has come, in plain Python."""
    runs = {
        tuple(history[place : place + size])
        for place in range(len(history) - size + 1)
    }
    before = history[len(history) - size + 1 :]
    return {x for x in range(VOCABULARY) if (*before, x) in runs}


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_what_has_come_does_not_come_again(size, jit_compile, rng):
    rows, columns, length = 30, 11, 9
    history = rng.integers(VOCABULARY, size=(rows, columns))
    missing = rng.integers(length + 1, size=rows)
    history[np.arange(columns) < missing[:, None]] = -1
    scores = rng.normal(size=(rows, VOCABULARY)).astype("float32")
    function = tf.function(forbid_repeats, jit_compile=jit_compile)
    found = function(
        tf.constant(scores),
        tf.constant(history, tf.int32),
        tf.constant(length),
        size,
    ).numpy()
    counts = set()
    for row in range(rows):
        real = history[row, missing[row] : length].tolist()
        # A row of fewer tokens than a run begins with repeats nothing.
        gone = forbidden(real, size) if len(real) >= size else set()
        counts.add(len(gone))
        for token in range(VOCABULARY):
            wanted = -np.inf if token in gone else scores[row, token]
            assert found[row, token] == wanted
    assert len(counts) > 1
