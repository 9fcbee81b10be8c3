"""The largest logits of each row, quickly where the vocabulary is large."""

import math

import tensorflow as tf

# Measured on CPU: 4 of 50,000 logits come four times as fast through chunks,
# of 1,000 not at all faster; nor do 256 of any.
CHUNK = 64
_MIN_CHUNKS_PER_RESULT = 8


def in_chunks(logits, size: int, filler):
    """Cut rows into chunks: (rows, vocabulary) to (rows, chunks, size).

    The last chunk ends in `filler`.
    """
    vocabulary = logits.shape[-1]
    chunks = math.ceil(vocabulary / size)
    missing = chunks * size - vocabulary
    if missing:
        logits = tf.pad(logits, [[0, 0], [0, missing]], constant_values=filler)
    return tf.reshape(logits, [tf.shape(logits)[0], chunks, size])


def likeliest(logits, number: int):
    """Find the largest logits of each row, as `tf.math.top_k` does.

    The `number` largest are in the `number` chunks with the largest maxima,
    so only these are sorted.

    Args:
        logits: (rows, vocabulary).
        number: How many, at most the vocabulary.

    Returns:
        (rows, number) logits, largest first, and their ids; the lower id first
        if they are equal.
    """
    vocabulary = logits.shape[-1]
    if number == vocabulary:
        # TensorFlow sorts whole rows with C++'s sort, for which an order with
        # NaN in it is undefined.
        lowest = tf.constant(-math.inf, logits.dtype)
        logits = tf.where(tf.math.is_nan(logits), lowest, logits)
    if vocabulary < number * CHUNK * _MIN_CHUNKS_PER_RESULT:
        return tf.math.top_k(logits, number)
    chunks = in_chunks(logits, CHUNK, -math.inf)
    maxima = tf.reduce_max(chunks, axis=-1)
    _, chosen = tf.math.top_k(maxima, number)
    # Back in the order of ids, by which equal logits are ranked.
    chosen = tf.sort(chosen, axis=-1)
    candidates = tf.gather(chunks, chosen, batch_dims=1)
    candidates = tf.reshape(candidates, [tf.shape(logits)[0], number * CHUNK])
    values, places = tf.math.top_k(candidates, number)
    chunk = tf.gather(chosen, places // CHUNK, batch_dims=1)
    return values, chunk * CHUNK + places % CHUNK
