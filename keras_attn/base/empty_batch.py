"""Layers of Keras that cannot read nothing."""

from keras import ops
from keras import tree


def apply_to_rows(layer, inputs):
    """Call a layer of Keras, also where there is no row.

    TensorFlow with oneDNN, as on Intel's processors, gives the convolution of
    an empty batch the channels of its inputs, and Keras 3.13 refuses it.

    Args:
        layer: Rows are the first axis of what it takes and of what it gives.
        inputs: (batch, ...).

    Returns:
        What the layer returns, of no row if there is none.
    """
    if inputs.shape[0] != 0:
        return layer(inputs)
    row = ops.zeros((1, *inputs.shape[1:]), inputs.dtype)
    return tree.map_structure(lambda output: output[:0], layer(row))
