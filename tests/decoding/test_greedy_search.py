"""Greedy search against its definition in plain Python."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding import beam
from keras_attn.decoding import greedy
from keras_attn.decoding import sample
from tests.decoding import markov
from tests.decoding.markov import END


def settings(table, max_length, start=1):
    return dict(
        step=markov.step,
        state=markov.state(table, max_length),
        batch_size=table.shape[0],
        max_length=max_length,
        start_id=start,
        end_id=END,
    )


@pytest.mark.parametrize("jit_compile", [None, False, True], ids=str)
def test_takes_the_likeliest_token_at_each_step(rng, jit_compile):
    table = markov.tables(rng, 30, 5)
    start = rng.integers(5, size=30)

    def run():
        return greedy(**settings(table, 7, start))

    if jit_compile is not None:
        run = tf.function(run, autograph=False, jit_compile=jit_compile)
    tokens = run().numpy()
    assert tokens.dtype == np.int32
    expected = [markov.greedy(table[row], start[row], 7) for row in range(30)]
    assert tokens.tolist() == expected


@pytest.mark.parametrize(
    "search",
    [
        lambda **options: beam(width=1, **options)[0][:, 0],
        lambda **options: sample(temperature=0, seed=3, **options),
        lambda **options: sample(temperature=[0.0] * 30, seed=3, **options),
        lambda **options: sample(top_k=1, seed=3, **options),
        lambda **options: sample(top_p=1e-6, seed=3, **options),
        lambda **options: sample(min_p=1.0, seed=3, **options),
    ],
    ids=["beam", "cold", "cold rows", "top_k", "top_p", "min_p"],
)
def test_narrow_searches_are_greedy(rng, search):
    table = markov.tables(rng, 30, 5)
    options = settings(table, 7)
    np.testing.assert_array_equal(search(**options), greedy(**options))


def test_one_start_for_all_or_one_for_each(rng):
    table = markov.tables(rng, 5, 4)
    one = greedy(**settings(table, 6, 2))
    np.testing.assert_array_equal(one, greedy(**settings(table, 6, [2] * 5)))


def test_equal_logits_go_to_the_lower_id():
    table = np.zeros((1, 4, 4, 4), "float32")
    table[..., END] = -1.0
    assert greedy(**settings(table, 3)).numpy().tolist() == [[1, 1, 1]]


def test_logits_of_nan_hurt_no_other_row(rng):
    table = markov.tables(rng, 4, 5)
    healthy = greedy(**settings(table, 6)).numpy()
    table[2] = np.nan
    hurt = greedy(**settings(table, 6)).numpy()
    np.testing.assert_array_equal(hurt[[0, 1, 3]], healthy[[0, 1, 3]])
    assert 0 <= hurt.min() and hurt.max() < 5
