import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow.core.framework import types_pb2

from keras_attn.export.bundle.tensor_protos import to_array
from keras_attn.export.bundle.tensor_protos import to_proto


def message(dtype, shape, **fields):
    proto = tensor_pb2.TensorProto(dtype=dtype, **fields)
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    return proto


ARRAYS = [
    np.array([b"a", b"", b"\xff\x00"], object),
    np.array([], object),
    np.array(7, "int64"),
    np.array([[True], [False]]),
    *(
        np.array([[0, 1, 2], [3, 4, 5]], dtype)
        for dtype in (
            *("float16", "float32", "float64", "int8", "int16", "int32"),
            *("int64", "uint8", "uint16", "uint32", "uint64"),
        )
    ),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
def test_an_array_comes_back_from_its_message(array):
    back = to_array(to_proto(array))
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tolist() == array.tolist()


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
def test_tensorflow_reads_and_writes_the_same(array):
    np.testing.assert_array_equal(tf.make_ndarray(to_proto(array)), array)
    strings = tf.string if array.dtype == object else None
    theirs = tf.make_tensor_proto(array, dtype=strings)
    np.testing.assert_array_equal(to_array(theirs), array)


def test_numbers_are_where_tf_serving_puts_them():
    proto = to_proto(np.array([[1.5, 2.5]], "float32"))
    assert list(proto.float_val) == [1.5, 2.5]
    assert not proto.tensor_content


def test_missing_values_repeat_the_last_and_missing_strings_are_empty():
    two = message(types_pb2.DT_FLOAT, [3], float_val=[1.0, 2.0])
    assert to_array(two).tolist() == [1.0, 2.0, 2.0]
    none = message(types_pb2.DT_STRING, [2])
    assert to_array(none).tolist() == [b"", b""]


@pytest.mark.parametrize(
    ("proto", "complaint"),
    [
        (message(types_pb2.DT_FLOAT, [-1]), "must be known"),
        (message(types_pb2.DT_FLOAT, [2**20, 2**20]), "elements"),
        (message(types_pb2.DT_FLOAT, [1], float_val=[1, 2]), "do not fill"),
        (message(types_pb2.DT_FLOAT, [1], tensor_content=b"abc"), "not fill"),
        (message(types_pb2.DT_STRING, [1], tensor_content=b"a"), "not fill"),
        (message(types_pb2.DT_INVALID, [1]), "do not fill"),
        (message(types_pb2.DT_RESOURCE, [1]), "do not fill"),
        (message(999, [1]), "do not fill"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_message_that_is_no_tensor_is_refused(proto, complaint):
    with pytest.raises(ValueError, match=complaint):
        to_array(proto)
