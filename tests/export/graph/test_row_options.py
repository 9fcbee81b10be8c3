import numpy as np
import tensorflow as tf

from keras_attn.export.graph import row_options


def check(max_length, temperature, valid=True):
    rows = np.broadcast_arrays(
        np.array(valid), np.int32(max_length), np.float32(temperature)
    )
    checked = row_options.check(*map(tf.constant, rows), most=6)
    return [tensor.numpy().tolist() for tensor in checked]


def test_options_in_range_are_taken_as_they_are():
    valid, limits, temperature = check([1, 6, 3], [0.0, 2.5, 1e9])
    assert valid == [True, True, True]
    assert limits == [1, 6, 3]
    assert temperature == [0.0, 2.5, 1e9]


def test_a_length_out_of_range_makes_its_row_invalid():
    valid, limits, _ = check([0, 7, -1, 6], 1.0)
    assert valid == [False, False, False, True]
    assert limits == [0, 0, 0, 6]


def test_a_temperature_out_of_range_makes_its_row_invalid():
    valid, limits, temperature = check(4, [-0.1, np.inf, np.nan, 0.5])
    assert valid == [False, False, False, True]
    assert limits == [0, 0, 0, 4]
    assert temperature == [0, 0, 0, 0.5]


def test_a_row_that_is_invalid_anyway_gets_no_token():
    assert check(4, 1.0, [True, False])[1] == [4, 0]


def test_examples_have_one_row_that_is_not_valid():
    examples = row_options.examples(4, 6)
    for name, spec in row_options.INPUTS.items():
        assert examples[name].dtype == spec.dtype.as_numpy_dtype
        assert examples[name].shape == (5,)
    valid, _, _ = check(examples["max_length"], examples["temperature"])
    assert valid == [True] * 4 + [False]
