"""Compiled functions for batches of any size."""

from collections.abc import Callable

import tensorflow as tf
from keras import tree

from keras_attn.export.graph.shared_function import inlined

# No batch is as large as the last.
_POWERS = [2**exponent for exponent in range(31)]


def compiled(function: Callable) -> Callable:
    """Compile a function with XLA, for few batch sizes.

    XLA compiles for seconds for each batch size that it meets, so batches are
    filled up with zeros to 1, 2, 4, 8, … rows.

    Args:
        function: Takes (batch, ...) tensors, of known shapes but for the
            batch, and returns a nest of them, row for row.

    Returns:
        A function that takes and returns the same.
    """

    def whole(*tensors):
        with inlined():
            return function(*tensors)

    compile_once = tf.function(whole, jit_compile=True, autograph=False)

    def run(*tensors):
        rows = tf.shape(tensors[0])[0]
        missing = next_power(rows) - rows
        padded = [_add_rows(tensor, missing) for tensor in tensors]
        outputs = compile_once(*padded)
        return tree.map_structure(lambda output: output[:rows], outputs)

    return run


def next_power(number):
    """The least power of two that is not below `number`, a scalar int32."""
    powers = tf.constant(_POWERS)
    return tf.gather(powers, tf.math.count_nonzero(powers < number))


def _add_rows(tensor, missing):
    rest = [[0, 0]] * (tensor.shape.rank - 1)
    return tf.pad(tensor, [[0, missing], *rest])
