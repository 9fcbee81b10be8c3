"""Arrays in memory, a row for each example."""

import numpy as np
import tensorflow as tf

# Keras computes in 32 bits; ids and labels are int32 in every pipeline here.
NARROWER = {"float64": np.float32, "int64": np.int32, "uint64": np.int32}


def arrays(**columns) -> tf.data.Dataset:
    """Give the rows of arrays of equal length.

    Numbers of 64 bits become float32 or int32, everything else stays.

    Args:
        **columns: NumPy arrays, or lists that make one, (examples, ...); such
            as `arrays(image=images, label=labels)`.

    Returns:
        A dictionary with the same names: row k of each array.

    Raises:
        ValueError: The lengths differ, rows of a list differ in shape, or an
            integer does not fit into 32 bits.
    """
    if not columns:
        raise ValueError("No array was given. Pass arrays by name.")
    columns = {name: _array(name, column) for name, column in columns.items()}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            f"Arrays must have the same number of rows. Received: {lengths}"
        )
    return tf.data.Dataset.from_tensor_slices(columns)


def _array(name, column):
    try:
        array = np.asarray(column)
    except ValueError as error:
        raise ValueError(
            f"The rows of `{name}` must have one shape: {error}. Pad them, or "
            "keep them as text and tokenize."
        ) from error
    if array.ndim == 0:
        raise ValueError(
            f"`{name}` must hold a row for each example. Received: {column!r}"
        )
    narrower = NARROWER.get(array.dtype.name)
    if narrower is None:
        return array
    if array.dtype.kind in "iu" and array.size:
        limits = np.iinfo(narrower)
        if array.min() < limits.min or array.max() > limits.max:
            raise ValueError(
                f"Integers must fit into 32 bits. Received: `{name}` with "
                f"values from {array.min()} to {array.max()}"
            )
    return array.astype(narrower)
