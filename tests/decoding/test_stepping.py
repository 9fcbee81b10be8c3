"""One step, with what it returns checked."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding.state import StateLayout
from keras_attn.decoding.stepping import stepper


def echo(token, state, index):
    return tf.one_hot(token, 5) + tf.cast(index, tf.float32), state


def take(step=echo, *, max_length=9, end_id=0, token=(1, 2), **options):
    layout = StateLayout({"a": tf.zeros([2, 3])}, 2)
    settings = {"max_length": max_length, "end_id": end_id, **options}
    run = stepper(step, layout, **settings)
    return run(tf.constant(token), layout.leaves, 4)


def test_gives_logits_and_leaves():
    logits, leaves = take()
    np.testing.assert_array_equal(logits, np.eye(5)[[1, 2]] + 4)
    assert [leaf.shape for leaf in leaves] == [(2, 3)]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_forbidden_ids_get_no_chance(dtype):
    def step(token, state, index):
        return tf.zeros([2, 5], dtype), state

    logits, _ = take(step, forbidden_ids=(1, 4))
    assert logits.dtype == dtype
    lowest = -np.inf
    expected = [[0, lowest, 0, 0, lowest]] * 2
    np.testing.assert_array_equal(tf.cast(logits, tf.float32), expected)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_forced_end_is_all_there_is_in_the_last_step(dtype):
    def step(token, state, index):
        return tf.one_hot(token, 5, dtype=dtype), state

    options = {"forced_end_id": 3, "forbidden_ids": (3,)}
    before, _ = take(step, max_length=6, **options)
    logits, _ = take(step, max_length=5, **options)
    assert before.dtype == logits.dtype == dtype
    lowest = -np.inf
    expected = [[0, 1, 0, lowest, 0], [0, 0, 1, lowest, 0]]
    np.testing.assert_array_equal(tf.cast(before, tf.float32), expected)
    expected = [[lowest, lowest, lowest, 0, lowest]] * 2
    np.testing.assert_array_equal(tf.cast(logits, tf.float32), expected)


def test_fillers_of_rows_without_an_end_are_in_the_vocabulary():
    logits, _ = take(end_id=-1, token=(-1, 2))
    np.testing.assert_array_equal(logits, np.eye(5)[[0, 2]] + 4)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"end_id": 5}, "less than 5, .* Received: 5"),
        ({"forbidden_ids": (7,)}, "less than 5, .* Received: 7"),
        ({"forbidden_ids": (-1,)}, "`forbidden_ids` must be"),
        ({"forced_end_id": 6}, "less than 5, .* Received: 6"),
        ({"forced_end_id": -1}, "`forced_end_id` must be"),
        ({"step": lambda *_: (tf.zeros([2]), {})}, "must return logits"),
        ({"step": lambda *_: (tf.zeros([3, 5]), {})}, "must return logits"),
        ({"step": lambda *_: (tf.zeros([2, 5]), {})}, "returned: nothing"),
    ],
)
def test_mistakes_get_a_sentence(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        take(**options)


def test_the_vocabulary_must_be_known():
    @tf.function(input_signature=[tf.TensorSpec([2, None])])
    def unknown(logits):
        return take(lambda *_: (logits, {"a": tf.zeros([2, 3])}))

    with pytest.raises(ValueError, match="vocabulary that is known"):
        unknown(tf.zeros([2, 5]))
