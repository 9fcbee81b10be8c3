"""Arrays as the messages that travel over gRPC, and back."""

import math

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2

# Where TF Serving puts the values of its answers.
FIELDS = {
    "float32": "float_val",
    "float64": "double_val",
    "int32": "int_val",
    "int16": "int_val",
    "int8": "int_val",
    "uint8": "int_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    "object": "string_val",
}
# A message of a few bytes may claim any shape and give one value for all.
MAX_ELEMENTS = 2**28


def to_proto(array: np.ndarray) -> tensor_pb2.TensorProto:
    """Write an array, strings as `bytes` objects, as a message."""
    name = array.dtype.name
    if name not in FIELDS:
        return tf.make_tensor_proto(array)
    dtype = tf.string if name == "object" else tf.as_dtype(name)
    proto = tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum)
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    getattr(proto, FIELDS[name]).extend(array.ravel().tolist())
    return proto


def to_array(proto: tensor_pb2.TensorProto) -> np.ndarray:
    """Read a message; strings become `bytes` objects.

    Raises:
        ValueError: If shape, dtype and values do not belong together.
    """
    shape = tuple(dim.size for dim in proto.tensor_shape.dim)
    if proto.tensor_shape.unknown_rank or any(size < 0 for size in shape):
        raise ValueError(f"The shape must be known. Received: {shape}")
    if math.prod(shape) > MAX_ELEMENTS:
        raise ValueError(
            f"A tensor may have {MAX_ELEMENTS} elements. Received: {shape}"
        )
    empty = not (proto.string_val or proto.tensor_content)
    if proto.dtype == tf.string.as_datatype_enum and empty:
        return np.full(shape, b"", object)  # TensorFlow would give text
    try:
        return tf.make_ndarray(proto)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"The values do not fill a tensor of shape {shape}: {error}"
        ) from error
