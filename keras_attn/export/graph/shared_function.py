"""Parts of a servable that several signatures use."""

from collections.abc import Callable

import tensorflow as tf


def shared_function(function: Callable) -> Callable:
    """Have a function in the file once, whatever calls it.

    Args:
        function: Takes and returns tensors, of the same dtypes and shapes
            wherever it is called.

    Returns:
        A function that does the same. It is no `tf.function`, which a
        SavedModel would offer to Python besides the signatures.
    """
    traced = tf.function(function, autograph=False)

    def call(*tensors, **options):
        return traced(*tensors, **options)

    return call
