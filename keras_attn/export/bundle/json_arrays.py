"""Arrays as JSON, in the columns of TF Serving's REST interface."""

import base64
import binascii
import math
import reprlib
from collections.abc import Iterator

import numpy as np


def to_json(array: np.ndarray):
    """Write an array as nested lists, as TF Serving does.

    Args:
        array: Of any shape. Strings are `bytes`, or `str`.

    Returns:
        Nested lists of numbers, booleans, and strings; what is not UTF-8 is
        `{"b64": ...}`. Numbers have as many digits as tell them from their
        neighbours in the array's own precision.

    Raises:
        ValueError: If JSON has nothing for the dtype.
    """
    array = np.asarray(array)
    kind = array.dtype.kind
    if array.dtype.name == "bfloat16":
        array, kind = array.astype("float32"), "f"
    if kind in "OSU":
        return _nest(array, _text_to_json)
    if kind in "biu" or array.dtype == "float64":
        return array.tolist()
    if kind == "f":
        # `tolist` would write the 17 digits of float64.
        return _nest(array, lambda number: float(str(number)))
    raise ValueError(f"JSON has no numbers for the dtype {array.dtype}.")


def from_json(value, dtype: str) -> np.ndarray:
    """Read what `to_json` or a client of TF Serving wrote.

    Args:
        value: Nested lists, or one number, boolean or string.
        dtype: TensorFlow's name of the dtype: "string", "float32", "int64".

    Returns:
        The array; strings are `bytes` objects. An empty list has one axis.

    Raises:
        ValueError: If rows differ in length, or a value is not of the dtype.
    """
    shape = _shape(value)
    leaves = list(_leaves(value, shape))
    if dtype == "string":
        array = np.empty(len(leaves), object)
        array[:] = [_text_from_json(leaf) for leaf in leaves]
    else:
        array = _numbers(leaves, dtype)
    return array.reshape(shape)


# A wrong value may be a megabyte long.
_brief = reprlib.repr


def _nest(array, function):
    values = np.empty(array.size, object)
    values[:] = [function(value) for value in array.flat]
    return values.reshape(array.shape).tolist()


def _text_to_json(text):
    if isinstance(text, str):
        return text
    try:
        return text.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(text).decode()}


def _text_from_json(value):
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                "A string holds half of a surrogate pair, which has no UTF-8. "
                f"Received: {_brief(value)}"
            ) from error
    if isinstance(value, dict) and value.keys() == {"b64"}:
        try:
            return base64.b64decode(value["b64"], validate=True)
        except (binascii.Error, TypeError, ValueError) as error:
            raise ValueError(
                f'The value of "b64" is not base64: {error}'
            ) from error
    raise ValueError(
        'Strings are written "..." or {"b64": "..."}. '
        f"Received: {_brief(value)}"
    )


def _shape(value):
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        if not value:
            break
        value = value[0]
    return tuple(shape)


def _leaves(value, shape) -> Iterator:
    if not shape:
        if isinstance(value, list):
            raise ValueError("Rows must be nested equally deep.")
        yield value
        return
    if not isinstance(value, list):
        raise ValueError(
            f"Rows must be nested equally deep. Received: {_brief(value)}"
        )
    if len(value) != shape[0]:
        raise ValueError(
            "Rows must be of one length. "
            f"Received: {len(value)} values next to {shape[0]}."
        )
    for row in value:
        yield from _leaves(row, shape[1:])


def _numbers(leaves, dtype):
    # It teaches NumPy what bfloat16 is, and comes with TensorFlow.
    import ml_dtypes

    dtype = np.dtype(dtype)
    if dtype.kind not in "biuf" and dtype.name != "bfloat16":
        raise ValueError(f"JSON has no numbers for the dtype {dtype}.")
    kinds = {"b": (bool,), "i": (int,), "u": (int,)}
    allowed = kinds.get(dtype.kind, (int, float))
    low, high = -math.inf, math.inf
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    elif dtype.kind != "b":
        high = float(ml_dtypes.finfo(dtype).max)
        low = -high
    for leaf in leaves:
        if type(leaf) not in allowed:
            raise ValueError(f"This is not of dtype {dtype}: {_brief(leaf)}")
        is_finite = isinstance(leaf, int) or math.isfinite(leaf)
        if is_finite and not low <= leaf <= high:
            raise ValueError(f"This does not fit {dtype}: {_brief(leaf)}")
    return np.array(leaves, dtype)
