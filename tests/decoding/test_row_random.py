"""Chance that belongs to a row."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding.row_random import draws
from keras_attn.decoding.row_random import pick
from keras_attn.decoding.row_random import row_seeds

HIGHEST = 2**31 - 1


def test_seeds_are_pairs():
    assert row_seeds(7, 3).numpy().tolist() == [[7, 0], [7, 1], [7, 2]]
    assert row_seeds([7, 8], 2).numpy().tolist() == [[7, 0], [8, 0]]
    assert row_seeds([[7, 8]], 1).numpy().tolist() == [[7, 8]]
    for wrong in ([1, 2], [[1, 2, 3]] * 3):
        with pytest.raises(ValueError, match="`seed` must be"):
            row_seeds(wrong, 3)


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_a_row_draws_from_its_own_seed(jit_compile):
    run = tf.function(
        lambda seed: draws(seed, seed.shape[0], 5), jit_compile=jit_compile
    )
    pairs = tf.constant([[7, 0], [7, 1], [8, 0], [-9, 2**40]], tf.int64)
    together = run(pairs).numpy()
    np.testing.assert_array_equal(together, draws(pairs, 4, 5))
    for row in range(4):
        np.testing.assert_array_equal(together[row], run(pairs[row:][:1])[0])
    assert len(np.unique(together)) == together.size
    longer = draws(pairs, 4, 9).numpy()
    np.testing.assert_array_equal(longer[:, :5], together)


def test_draws_fill_their_range_evenly():
    numbers = draws(3, 40, 1000).numpy()
    assert numbers.min() >= 0 and numbers.max() <= HIGHEST
    counts, _ = np.histogram(numbers, bins=16, range=(0, HIGHEST + 1))
    expected = numbers.size / 16
    # The chance of a larger sum is 1 in 1000, with 15 degrees of freedom.
    assert ((counts - expected) ** 2 / expected).sum() < 37.7
    assert draws(3, 0, 4).shape == (0, 4)


def test_without_a_seed_draws_differ_each_time():
    run = tf.function(lambda: draws(None, 2, 3))
    assert not np.array_equal(run(), run())
    assert not np.array_equal(draws(None, 2, 3), draws(None, 2, 3))


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
@pytest.mark.parametrize("vocabulary", [1, 5, 50])
def test_a_draw_finds_its_place_in_the_sum(rng, vocabulary, jit_compile):
    logits = rng.normal(size=(1, vocabulary)).astype("float32")
    logits[0, 1:3] = -np.inf
    shares = np.exp(logits[0].astype("float64"))
    ends = np.cumsum(shares / shares.sum())
    places = np.linspace(0, 1, 200, endpoint=False) + 1e-4
    rows = np.repeat(logits, 200, axis=0)
    draw = (places * 2**31).astype("int64")[:, None]
    run = tf.function(pick, autograph=False, jit_compile=jit_compile)
    tokens = run(rows, draw)
    assert tokens.dtype == tf.int32
    expected = np.searchsorted(ends, places, side="right")
    np.testing.assert_array_equal(tokens, expected)


def test_the_extremes_draw_what_may_come():
    logits = tf.constant([[-np.inf, 0.0, -np.inf, 3.0, -np.inf]] * 2)
    tokens = pick(logits, tf.constant([[0], [HIGHEST]], tf.int64))
    assert tokens.numpy().tolist() == [1, 3]


def test_nan_gives_an_id_of_the_vocabulary():
    logits = tf.constant([[np.nan] * 5, [-np.inf] * 5, [0.0] * 5])
    draw = tf.constant([[1], [1], [HIGHEST]], tf.int64)
    tokens = pick(logits, draw).numpy()
    assert 0 <= tokens.min() and tokens.max() < 5 and tokens[2] == 4
