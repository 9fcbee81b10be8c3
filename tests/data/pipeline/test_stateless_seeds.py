import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.pipeline.stateless_seeds import Draws
from keras_attn.data.pipeline.stateless_seeds import beta
from keras_attn.data.pipeline.stateless_seeds import with_seeds


def seeds_of(dataset):
    return [tuple(seed.tolist()) for _, seed in dataset.as_numpy_iterator()]


def seeded(seed=7, use=0):
    return with_seeds(tf.data.Dataset.range(5), seed, use=use)


def test_the_same_seed_gives_the_same_draws():
    assert seeds_of(seeded()) == seeds_of(seeded())
    assert not set(seeds_of(seeded())) & set(seeds_of(seeded(seed=8)))
    assert not set(seeds_of(seeded())) & set(seeds_of(seeded(use=1)))


def test_every_element_and_every_epoch_has_seeds_of_its_own():
    dataset = seeded()
    drawn = seeds_of(dataset) + seeds_of(dataset) + seeds_of(dataset.repeat(2))
    assert len(set(drawn)) == 20


def test_a_saved_iterator_goes_on_in_the_same_epoch(tmp_path):
    dataset = seeded()
    seeds_of(dataset)
    iterator = iter(dataset)
    for _ in range(2):
        next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "at"))
    rest, later = [seed.numpy() for _, seed in iterator], seeds_of(dataset)

    # As another process would: everything made anew.
    dataset = seeded()
    iterator = iter(dataset)
    tf.train.Checkpoint(iterator=iterator).restore(path)
    np.testing.assert_array_equal([seed for _, seed in iterator], rest)
    assert seeds_of(dataset) == later


def test_draws_feed_keras_without_a_variable():
    @tf.function
    def draw(seed):
        draws = Draws(seed)
        return [keras.random.uniform((3,), seed=draws) for _ in range(2)]

    first, second = draw(tf.constant([1, 2], tf.int64))
    again, _ = draw(tf.constant([1, 2], tf.int64))
    other, _ = draw(tf.constant([1, 3], tf.int64))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, second)
    assert not np.allclose(first, other)
    assert not draw.get_concrete_function(
        tf.constant([1, 2], tf.int64)
    ).variables


@pytest.mark.parametrize("alpha", [0.2, 0.8, 1.0, 4.0])
def test_beta_has_the_moments_of_its_distribution(alpha):
    drawn = beta(20_000, alpha, (1, 2)).numpy()
    np.testing.assert_allclose(drawn.mean(), 0.5, atol=0.01)
    variance = 1 / (4 * (2 * alpha + 1))
    np.testing.assert_allclose(drawn.var(), variance, rtol=0.03)


def test_beta_is_finite_where_gamma_variables_are_not():
    drawn = beta(2_000, 0.001, (1, 2)).numpy()
    assert np.isfinite(drawn).all()
    assert ((drawn < 1e-6) | (drawn > 1 - 1e-6)).mean() > 0.95
