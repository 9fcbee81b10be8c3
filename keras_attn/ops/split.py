"""One tensor parted into several."""

import tensorflow as tf


def split_features(x, sizes: list[int]) -> list:
    """Part the last axis into pieces of known sizes.

        output(i) = x[..., Σ sizes[:i] : Σ sizes[:i + 1]]

    In one op; `keras.ops.split` works the sizes out with eight more.

    Args:
        x: (..., sum of sizes).
        sizes: Of the pieces.

    Returns:
        A list of (..., size).
    """
    return tf.split(x, sizes, axis=-1)
