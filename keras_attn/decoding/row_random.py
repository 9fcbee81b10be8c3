"""Chance that belongs to a row: its own seed, its own draws."""

import math

import tensorflow as tf

from keras_attn.decoding.logits.chunked_top_k import in_chunks

# Probabilities become whole numbers, whose sums are exact in any order: the
# same draw gives the same token in any batch, with XLA or without.
_ONE = 2.0**30
_DRAW_BITS = 31


def row_seeds(seed, batch_size):
    """Give each row its seed, a pair of numbers.

    Args:
        seed: None for one that is new each time; a number s, for (s, row); one
            number for each row, (batch,), for (s[row], 0); or the pairs.
        batch_size: Number of rows.

    Returns:
        (batch, 2) int64.

    Raises:
        ValueError: If the shape is none of these.
    """
    if seed is None:
        highest = tf.int64.max
        seed = tf.random.uniform([], maxval=highest, dtype=tf.int64)
    seed = tf.cast(seed, tf.int64)
    if seed.shape.rank == 0:
        rows = tf.range(tf.cast(batch_size, tf.int64))
        return tf.stack([tf.fill([batch_size], seed), rows], axis=-1)
    known = None if tf.is_tensor(batch_size) else batch_size
    if seed.shape.rank == 1:
        seed = tf.stack([seed, tf.zeros_like(seed)], axis=-1)
    if not seed.shape.is_compatible_with([known, 2]):
        raise ValueError(
            "`seed` must be None, a number, or have one number or a pair for "
            f"each row, (batch,) or (batch, 2), with batch={known}. Received: "
            f"seed.shape={tuple(seed.shape)}"
        )
    return seed


def draws(seed, batch_size, length: int):
    """Draw whole numbers from 0 to 2^31 - 1, each row from its own seed.

    Args:
        seed: As for `row_seeds`.
        batch_size: Number of rows.
        length: Draws for each row.

    Returns:
        (batch, length) int64.
    """

    def one_row(pair):
        # Philox by name: what TensorFlow would choose depends on the device.
        return tf.random.stateless_uniform(
            [length],
            pair,
            minval=None,
            maxval=None,
            dtype=tf.int32,
            alg="philox",
        )

    numbers = tf.map_fn(
        one_row,
        row_seeds(seed, batch_size),
        fn_output_signature=tf.TensorSpec([length], tf.int32),
    )
    return tf.cast(numbers, tf.int64) & (2**_DRAW_BITS - 1)


def pick(logits, draw):
    """Turn a draw into a token, each as often as the softmax says.

        token = the first id with Σ probability[:id + 1] > draw / 2^31

    Args:
        logits: (rows, vocabulary) float32; -inf never comes.
        draw: (rows, 1) int64, from 0 to 2^31 - 1.

    Returns:
        (rows,) int32. Logits that are NaN give some id of the vocabulary.
    """
    vocabulary = logits.shape[-1]
    counts = tf.cast(tf.nn.softmax(logits) * _ONE, tf.int64)
    # First the chunk, then the index in it: running sums over a whole row
    # take longer than all the rest.
    size = math.ceil(math.sqrt(vocabulary))
    counts = in_chunks(counts, size, 0)  # (rows, chunks, size)
    sums = tf.reduce_sum(counts, axis=-1)
    ends = tf.cumsum(sums, axis=-1)  # (rows, chunks)
    level = (draw * ends[:, -1:]) // 2**_DRAW_BITS  # (rows, 1)
    chunk = _first_above(ends, level)
    level -= tf.gather(ends - sums, chunk, batch_dims=1)
    inside = tf.gather(counts, chunk, batch_dims=1)[:, 0]  # (rows, size)
    index = _first_above(tf.cumsum(inside, axis=-1), level)
    return tf.minimum(chunk * size + index, vocabulary - 1)[:, 0]


def _first_above(ends, level):
    """Find where a rising row first exceeds its level: (rows, 1)."""
    index = tf.searchsorted(ends, level, side="right")
    return tf.minimum(index, ends.shape[-1] - 1)
