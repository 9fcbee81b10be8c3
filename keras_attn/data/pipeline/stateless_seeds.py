"""Random numbers that a checkpoint of the iterator holds."""

import keras
import tensorflow as tf

fold_in = tf.random.experimental.stateless_fold_in
split = tf.random.experimental.stateless_split


class Draws(keras.random.SeedGenerator):
    """Seeds for Keras' random layers, all made from one given seed.

    Keras' own generator counts in a variable, and an iterator over a dataset
    that changes a variable cannot be saved. This one counts while the graph
    is traced: the given seed must differ from call to call.

    Args:
        seed: (2,) integers.
    """

    def __init__(self, seed):
        # The base would make the variable.
        self._seed = seed
        self._count = 0

    def next(self, ordered=True):
        self._count += 1
        return fold_in(self._seed, self._count)


def with_seeds(
    dataset: tf.data.Dataset, seed: int, *, use: int
) -> tf.data.Dataset:
    """Give every element a seed of its own, another one in every epoch.

    Args:
        dataset: Any dataset.
        seed: The same seed gives the same draws.
        use: What the seeds are for, as a number: two uses of one `seed` draw
            independently.

    Returns:
        `(element, seed)` with a seed of shape (2,) for `tf.random.stateless_*`.
    """
    numbers = tf.data.Dataset.random(seed, rerandomize_each_iteration=True)
    seeds = numbers.batch(2, drop_remainder=True)
    seeds = seeds.map(lambda pair: fold_in(pair, tf.constant(use, tf.int64)))
    return tf.data.Dataset.zip(dataset, seeds)


def beta(rows, alpha: float, seed):
    """Draw weights between 0 and 1 from Beta(alpha, alpha).

        beta = gamma_1 / (gamma_1 + gamma_2),    gamma_i ~ Gamma(alpha)

    Args:
        rows: How many.
        alpha: Above 0.
        seed: (2,) integers.

    Returns:
        (batch,) float32.
    """

    def log_gamma(seed):
        # Gamma(a) = Gamma(a + 1) u^(1/a), in logarithms: with a small `alpha`
        # the numbers themselves are too small for float32.
        seeds = split(seed, 2)
        gamma = tf.random.stateless_gamma((rows,), seeds[0], alpha + 1)
        # From 1 down to above 0: the logarithm of 0 is not finite.
        uniform = 1 - tf.random.stateless_uniform((rows,), seeds[1])
        return tf.math.log(gamma) + tf.math.log(uniform) / alpha

    seeds = split(seed, 2)
    return tf.sigmoid(log_gamma(seeds[0]) - log_gamma(seeds[1]))
