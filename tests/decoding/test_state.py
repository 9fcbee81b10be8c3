"""States taken apart and put together."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.base.state import State
from keras_attn.decoding.state import StateLayout
from keras_attn.decoding.state import freeze

STATE = State(
    carried=[{"cache": tf.ones([2, 3])}, {"cache": tf.zeros([2, 3])}],
    constant={"memory": (tf.constant([7.0, 8.0]),)},
)


@pytest.mark.parametrize("state", [STATE, STATE.carried], ids=["state", "nest"])
def test_leaves_come_apart_and_together(state):
    layout = StateLayout(state, 2)
    assert [leaf.shape for leaf in layout.leaves] == [(2, 3)] * 2
    packed = layout.pack(layout.leaves)
    assert type(packed) is type(state)
    tf.nest.map_structure(np.testing.assert_array_equal, packed, state)
    other = tf.nest.map_structure(lambda leaf: leaf + 1, state)
    leaves = layout.unpack(other)
    assert [leaf.numpy().tolist() for leaf in leaves] == [
        [[2] * 3] * 2,
        [[1] * 3] * 2,
    ]


def test_what_is_constant_stays_whatever_a_step_returns():
    layout = StateLayout(STATE, 2)
    other = tf.nest.map_structure(lambda leaf: leaf + 1, STATE)
    after = layout.pack(layout.unpack(other))
    assert after.constant["memory"][0].numpy().tolist() == [7, 8]
    assert after.carried[1]["cache"].numpy().tolist() == [[1] * 3] * 2


def test_rows_are_repeated():
    layout = StateLayout(STATE, 2).repeated(2, 2)
    memory = layout.state.constant["memory"][0]
    assert memory.numpy().tolist() == [7, 7, 8, 8]
    layout = StateLayout(tf.constant([[1.0], [2.0]]), 2).repeated(2, 2)
    (leaf,) = layout.leaves
    assert leaf.numpy()[:, 0].tolist() == [1, 1, 2, 2]


def test_finished_rows_keep_their_leaves():
    old, new = tf.zeros([2, 3]), tf.ones([2, 3])
    (cache,) = freeze([True, False], [old], [new])
    assert cache.numpy().tolist() == [[0] * 3, [1] * 3]


@pytest.mark.parametrize("leaf", [1.0, [[1.0, 2.0]]], ids=["scalar", "rows"])
def test_a_leaf_without_the_rows_first_gets_a_sentence(leaf):
    with pytest.raises(ValueError, match=r"state\['a'\]\[0\] with shape"):
        StateLayout({"a": [tf.constant(leaf)]}, 2)


def test_a_state_that_changes_its_form_gets_a_sentence():
    layout = StateLayout({"a": tf.zeros([2, 3])}, 2)
    for state, complaint in (
        ({"b": tf.zeros([2, 3])}, r"given: state\['a'\]. It returned: .*'b'"),
        ({"a": tf.zeros([2, 4])}, r"was \(2, 3\) float32 and became \(2, 4\)"),
        ({"a": tf.zeros([2, 3], tf.int32)}, "became .* int32"),
        ({}, "returned: nothing"),
        (State({"a": tf.zeros([2, 3])}), "a dict, `step` a State"),
    ):
        with pytest.raises(ValueError, match=complaint):
            layout.unpack(state)
