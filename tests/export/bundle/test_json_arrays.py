import json
import math

import ml_dtypes
import numpy as np
import pytest

from keras_attn.export.bundle.json_arrays import from_json
from keras_attn.export.bundle.json_arrays import to_json


def round_trip(array, dtype):
    return from_json(json.loads(json.dumps(to_json(array))), dtype)


@pytest.mark.parametrize(
    "dtype",
    [
        *("float16", "bfloat16", "float32", "float64"),
        *("int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64", "bool"),
    ],
)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3, 4), (1, 0)])
def test_numbers_come_back(dtype, shape, rng):
    array = (rng.random(shape) * 100).astype(dtype)
    back = round_trip(array, dtype)
    assert back.dtype == array.dtype and back.shape == shape
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64"])
def test_the_limits_of_integers_come_back(dtype):
    limits = np.iinfo(dtype)
    array = np.array([limits.min, limits.max], dtype)
    np.testing.assert_array_equal(round_trip(array, dtype), array)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_what_is_no_number_comes_back(dtype):
    back = round_trip(np.array([math.nan, math.inf, -math.inf], dtype), dtype)
    np.testing.assert_array_equal(
        back.astype("float32"), [math.nan, math.inf, -math.inf]
    )


def test_floats_have_the_digits_of_their_precision():
    assert to_json(np.array([0.1, 1e-30], "float32")) == [0.1, 1e-30]
    assert to_json(np.float16(0.1)) == 0.1
    assert to_json(np.array([1.5, 1e30], ml_dtypes.bfloat16))[0] == 1.5


def test_text_is_text_and_other_bytes_are_base64():
    array = np.array([["añ\0", b"\xff\xfe"], [b"", "é".encode()]], object)
    column = to_json(array)
    assert column == [["añ\0", {"b64": "//4="}], ["", "é"]]
    back = from_json(column, "string")
    assert back.tolist() == [["añ\0".encode(), b"\xff\xfe"], [b"", b"\xc3\xa9"]]
    assert back.dtype == object


def test_text_that_looks_like_base64_stays_text():
    text = '{"b64": "//4="}'
    assert round_trip(np.array([text]), "string").tolist() == [text.encode()]


def test_numbers_may_be_written_as_integers_where_floats_are_wanted():
    assert from_json([1, 2.5], "float32").tolist() == [1.0, 2.5]


@pytest.mark.parametrize(
    ("value", "dtype", "complaint"),
    [
        ([[1, 2], [3]], "int32", "one length. Received: 1 values next to 2"),
        ([[1], 2], "int32", "equally deep. Received: 2"),
        ([1, [2]], "int32", "equally deep"),
        ([1.0], "int32", "not of dtype int32: 1.0"),
        ([True], "int32", "not of dtype int32: True"),
        ([True], "float32", "not of dtype float32: True"),
        ([1], "bool", "not of dtype bool: 1"),
        ([None], "float32", "not of dtype float32: None"),
        (["1"], "float32", "not of dtype float32: '1'"),
        ([{"a": 1}], "float32", "not of dtype float32"),
        ([300], "uint8", "does not fit uint8: 300"),
        ([-1], "uint8", "does not fit uint8: -1"),
        ([1e39], "float32", r"does not fit float32: 1e\+39"),
        ([10**400], "float64", "does not fit float64: 1000"),
        ([1], "complex64", "no numbers for the dtype complex64"),
        ([1], "string", "Strings are written .* Received: 1"),
        ([{"b64": "?"}], "string", "not base64"),
        ([{"b64": 1}], "string", "not base64"),
        ([{"b64": "", "c": 1}], "string", "Strings are written"),
        (["\ud800"], "string", "surrogate"),
    ],
)
def test_values_of_another_kind_are_refused(value, dtype, complaint):
    with pytest.raises(ValueError, match=complaint):
        from_json(value, dtype)


def test_a_complaint_about_a_long_value_is_short():
    with pytest.raises(ValueError) as caught:
        from_json(["a" * 1_000_000], "int32")
    assert len(str(caught.value)) < 200


def test_json_has_no_complex_numbers():
    with pytest.raises(ValueError, match="no numbers for the dtype complex64"):
        to_json(np.array([1j], "complex64"))
