"""Requests and answers of any number of rows, as people write them."""

import os
import pathlib
from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_attn.export.graph.invalid_rows import BLANKS
from keras_attn.export.graph.signature import Signature
from keras_attn.export.graph.tracing import is_text


def columns_of(signature: Signature, inputs: Mapping) -> dict[str, np.ndarray]:
    """Turn what a person gives into what a signature takes.

    Args:
        signature: Says which inputs there are.
        inputs: Lists, arrays or tensors by name; numbers stand for as many
            equal ones. Files, `*_bytes`, may be given as `pathlib.Path`s, and
            images as uint8 (height, width, channels).

    Returns:
        (rows, ...) arrays of the signature's dtypes, strings as `bytes`
        objects.

    Raises:
        TypeError: If the names are not the signature's.
        ValueError: If a dtype, a shape or the numbers of rows do not fit.
    """
    if inputs.keys() != signature.inputs.keys():
        raise TypeError(
            f"{signature.name!r} takes {', '.join(signature.inputs)}. "
            f"Received: {', '.join(inputs) or 'nothing'}"
        )
    columns = {
        name: _column(signature, name, inputs[name])
        for name in signature.inputs
    }
    rows = {len(column) for column in columns.values() if column.ndim}
    if len(rows) != 1:
        raise ValueError(
            f"The inputs of {signature.name!r} must have equally many rows. "
            f"Received: { {k: column.shape for k, column in columns.items()} }"
        )
    (rows,) = rows
    return {
        name: column if column.ndim else np.full(rows, column)
        for name, column in columns.items()
    }


def row_sizes(columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """About how long each row is, (rows,): the bytes of its strings."""
    sizes = np.zeros(len(next(iter(columns.values()))), int)
    for column in columns.values():
        if column.dtype == object and column.ndim == 1:
            sizes += np.array([len(text) for text in column], int)
    return sizes


def join_batches(name: str, outputs: Sequence, order: np.ndarray) -> np.ndarray:
    """Put an output of all batches together, in the order of the request.

    Args:
        name: Of the output; `*_bytes` stays `bytes`, other strings are text.
        outputs: (batch, ...) tensors. Where they differ in length they are
            filled up, as rows of one batch are.
        order: (rows,) places in the request of all batches' rows, in turn.

    Returns:
        (rows, ...) array; texts are `str` objects.
    """
    shapes = [output.shape[1:] for output in outputs]
    longest = [max(axes) for axes in zip(*shapes, strict=True)]
    dtype = outputs[0].dtype
    # Some are padded to the longest of their batch.
    blank = BLANKS.get(dtype, 0)
    if dtype == tf.string:
        blank = b""
    array = np.full((len(order), *longest), blank, dtype.as_numpy_dtype)
    start = 0
    for output in outputs:
        rows = order[start : start + len(output)]
        inside = tuple(slice(size) for size in output.shape[1:])
        array[(rows, *inside)] = output.numpy()
        start += len(rows)
    if not is_text(name, dtype):
        return array
    texts = np.empty(array.shape, object)
    texts.ravel()[:] = [text.decode() for text in array.ravel()]
    return texts


def _column(signature, name, value):
    spec = signature.inputs[name]
    where = f"`{name}` of {signature.name!r}"
    if isinstance(value, (str, bytes)):
        raise ValueError(
            f"{where} takes a list. Received one string: write [{value!r:.40}]."
        )
    if isinstance(value, tf.Tensor):
        value = value.numpy()
    if spec.dtype == tf.string:
        if name.endswith("_bytes"):
            value = [_as_file(file) for file in value]
        # Not as NumPy would have it, whose strings end before a zero byte.
        array = np.array(value, object)
        flat = [x.encode() if isinstance(x, str) else x for x in array.ravel()]
        wrong = [x for x in flat if not isinstance(x, bytes)]
        if wrong:
            raise ValueError(f"{where} takes strings. Received: {wrong[0]!r}")
        column = np.empty(len(flat), object)
        column[:] = flat
        array = column.reshape(array.shape)
    else:
        array = np.asarray(value)
        dtype = spec.dtype.as_numpy_dtype
        if array.size and not np.can_cast(array.dtype, dtype, "same_kind"):
            raise ValueError(
                f"{where} takes {spec.dtype.name}. Received: {array.dtype}"
            )
        array = array.astype(dtype)
        if not array.ndim and spec.shape.rank == 1:
            return array
    if not array.size and array.ndim == 1:
        # An empty list does not say of what.
        array = array.reshape((0, *(n or 0 for n in spec.shape[1:])))
    if not spec.shape.is_compatible_with(array.shape):
        raise ValueError(
            f"{where} has the shape {tuple(spec.shape)}. Received: "
            f"{array.shape}"
        )
    return array


def _as_file(file):
    """The bytes of a file, be it given by its path or as pixels."""
    if isinstance(file, os.PathLike):
        return pathlib.Path(file).read_bytes()
    if getattr(file, "dtype", None) == "uint8" and len(file.shape) == 3:
        return tf.io.encode_png(file).numpy()
    return file
