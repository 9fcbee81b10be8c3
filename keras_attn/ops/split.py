"""Several linear maps in one product."""

import tensorflow as tf
from keras import ops


def split_matmul(x, kernel, bias, sizes: list[int]) -> list:
    """Multiply by matrices that lie side by side, and part the products.

        [output_1, output_2, …] = x [W_1, W_2, …] + [b_1, b_2, …]

    Parted in one op; `keras.ops.split` works the sizes out with eight more.

    Args:
        x: (..., features).
        kernel: (features, sum of sizes).
        bias: (sum of sizes,), or None.
        sizes: Widths of the outputs.

    Returns:
        A list of (..., size).
    """
    products = ops.matmul(x, kernel)
    if bias is not None:
        # Not `+`: TensorFlow makes one op of a product and a BiasAdd, which is
        # quicker than two, most of all where there is a single row.
        products = ops.add(products, bias)
    return tf.split(products, sizes, axis=-1)
