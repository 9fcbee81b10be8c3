"""Noise that belongs to a row: its own seed, its own numbers."""

import tensorflow as tf


def row_noise(seeds, length: int):
    """Draw standard normal numbers, each row from its own seed.

    A row's numbers depend on its seed alone: neither on the other rows nor on
    how many there are.

    Args:
        seeds: (batch,) integers.
        length: Numbers for each row.

    Returns:
        (batch, length) float32.
    """

    def one_row(seed):
        # Philox by name: what TensorFlow would choose depends on the device.
        return tf.random.stateless_normal(
            [length], tf.stack([seed, tf.zeros_like(seed)]), alg="philox"
        )

    return tf.map_fn(
        one_row,
        tf.cast(seeds, tf.int64),
        fn_output_signature=tf.TensorSpec([length], tf.float32),
    )
