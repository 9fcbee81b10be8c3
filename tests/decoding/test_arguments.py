"""What every search is told."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding import arguments


@pytest.mark.parametrize("value", [3, np.int64(3)])
def test_whole_numbers_pass(value):
    assert arguments.whole_number(value, "size", at_least=3) == 3


@pytest.mark.parametrize("value", [2, 3.0, True, "3", None, tf.constant(3)])
def test_anything_else_gets_a_sentence(value):
    with pytest.raises(ValueError, match="`size` must be an integer of at"):
        arguments.whole_number(value, "size", at_least=3)


def test_a_batch_size_may_be_a_tensor():
    assert arguments.size(0) == 0
    assert arguments.size(tf.constant(2, tf.int64)) == 2
    with pytest.raises(ValueError, match="`batch_size`"):
        arguments.size(-1)

    @tf.function(input_signature=[tf.TensorSpec([], tf.int64)])
    def unknown(size):
        assert arguments.size(size).dtype == tf.int32
        return arguments.first_token(4, arguments.size(size))

    assert unknown(3).numpy().tolist() == [4, 4, 4]


def test_each_row_has_a_first_token():
    assert arguments.first_token(4, 2).numpy().tolist() == [4, 4]
    first = arguments.first_token(np.array([4, 5]), 2)
    assert first.dtype == tf.int32 and first.numpy().tolist() == [4, 5]
    with pytest.raises(ValueError, match=r"`start_id` .* \(2,\)"):
        arguments.first_token([4, 5, 6], 2)


def test_limits_are_for_each_row():
    assert arguments.limits([4, 0], 2).numpy().tolist() == [4, 0]
    with pytest.raises(ValueError, match="one for all of them is `max_length`"):
        arguments.limits(4, 2)
    with pytest.raises(ValueError, match=r"`limits` .*shape=\(3,\)"):
        arguments.limits([4, 5, 6], 2)


def test_numbers_stay_and_rows_become_columns():
    def take(value):
        return arguments.for_each_row(value, "top_p", 2, tf.float32)

    assert take(0.5) == 0.5
    assert take(tf.constant(0.5)).numpy().tolist() == [[0.5], [0.5]]
    assert take([1, 2]).numpy().tolist() == [[1.0], [2.0]]
    with pytest.raises(ValueError, match=r"`top_p` .*shape=\(2, 1\)"):
        take([[1], [2]])


def test_ends_are_one_or_several():
    assert arguments.end_ids(3) == (3,)
    assert arguments.end_ids(-1) == (-1,)
    assert arguments.end_ids([4, 2, 4]) == (4, 2)
    assert arguments.end_ids(np.array([5, 1])) == (5, 1)
    for wrong in (None, "2", [], [2, -1], [[1]], 0.5):
        with pytest.raises(ValueError, match="`end_id` must be an integer"):
            arguments.end_ids(wrong)
    assert arguments.ids(range(3), "forbidden_ids") == (0, 1, 2)
    with pytest.raises(ValueError, match="`some_ids` must be an integer"):
        arguments.ids(["a"], "some_ids")
