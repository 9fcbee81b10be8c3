"""How fast a device multiplies matrices."""

import time

import tensorflow as tf

# A product that takes less is mostly overhead.
_LONG_ENOUGH = 0.005
# The greatest takes 0.2 GB, and only fast devices come to it.
_SIZES = (512, 1024, 2048, 4096)


def matmul_peak(seconds: float = 0.5) -> float:
    """Measure the most float32 FLOP/s that a product of matrices reaches.

    Args:
        seconds: How long the same product is tried again and again: the
            shortest time is that in which nothing else disturbed it.

    Returns:
        2 · size³ / time of a product (size, size) · (size, size), on the device
        that TensorFlow chooses.
    """
    for size in _SIZES:
        matrix = tf.random.stateless_uniform((size, size), (0, size))
        _product_seconds(matrix)  # the first one sets the device up
        shortest = _product_seconds(matrix)
        if shortest > _LONG_ENOUGH:
            break
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        shortest = min(shortest, _product_seconds(matrix))
    return 2 * size**3 / shortest


def _product_seconds(matrix):
    start = time.perf_counter()
    product = tf.linalg.matmul(matrix, matrix)
    # Devices work behind Python's back, until a number must come from there.
    float(product[0, 0])
    return time.perf_counter() - start
