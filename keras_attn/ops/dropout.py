"""Dropout that gives the same mask for the same seed."""

import tensorflow as tf


def seeded_dropout(weights, rate: float, seed):
    """Drop a fraction of `weights` and scale up the rest.

    The same seed drops the same elements, so a backward pass can ask again. (A
    compiled function has another generator than an uncompiled one: they drop
    other elements.)

    Args:
        weights: Floats of any shape.
        rate: Fraction dropped, from 0 up to but not including 1.
        seed: (2,) integers.

    Returns:
        Like `weights`.
    """
    noise = tf.random.stateless_uniform(tf.shape(weights), seed)
    keep = tf.cast(noise >= rate, weights.dtype)
    return weights * keep / tf.constant(1.0 - rate, weights.dtype)
