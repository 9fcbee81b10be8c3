"""One step, with what it returns checked."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding.state import StateLayout
from keras_attn.decoding.stepping import log_probs_of
from keras_attn.decoding.stepping import stepper


def echo(token, state, index):
    return tf.one_hot(token, 5) + tf.cast(index, tf.float32), state


def take(step=echo, *, end_id=0, token=(1, 2), **options):
    layout = StateLayout({"a": tf.zeros([2, 3])}, 2)
    run = stepper(step, layout, end_ids=(end_id,), **options)
    return run(tf.constant(token), layout.leaves, 4)


def test_gives_logits_and_leaves():
    logits, allowed, leaves = take()
    np.testing.assert_array_equal(logits, np.eye(5)[[1, 2]] + 4)
    assert allowed is logits
    assert [leaf.shape for leaf in leaves] == [(2, 3)]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_forbidden_ids_get_no_chance(dtype):
    def step(token, state, index):
        return tf.zeros([2, 5], dtype), state

    logits, allowed, _ = take(step, forbidden_ids=(1, 4))
    assert not np.any(logits)
    assert allowed.dtype == dtype
    lowest = -np.inf
    expected = [[0, lowest, 0, 0, lowest]] * 2
    np.testing.assert_array_equal(tf.cast(allowed, tf.float32), expected)


def test_fillers_of_rows_without_an_end_are_in_the_vocabulary():
    logits, *_ = take(end_id=-1, token=(-1, 2))
    np.testing.assert_array_equal(logits, np.eye(5)[[0, 2]] + 4)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"end_id": 5}, "less than 5, .* Received: 5"),
        ({"forbidden_ids": (7,)}, "less than 5, .* Received: 7"),
        ({"named_ids": (6,)}, "less than 5, .* Received: 6"),
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


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (3,)], ids=["one", "several"])
def test_log_probabilities_are_those_of_the_softmax(rng, shape, dtype):
    logits = tf.cast(rng.normal(size=(2, 4, 7)), dtype)
    ids = rng.integers(7, size=(2, 4, *shape))
    found = log_probs_of(logits, ids)
    assert found.dtype == tf.float32
    wanted = np.array(tf.cast(logits, tf.float64))
    wanted -= np.log(np.exp(wanted).sum(-1, keepdims=True))
    wanted = np.take_along_axis(wanted, ids.reshape(2, 4, -1), axis=-1)
    np.testing.assert_allclose(found, wanted.reshape(ids.shape), 1e-5)
