"""States taken apart and put together."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding.state import StateLayout

STATE = {
    "layers": [
        {"memory": tf.constant([[1, 2], [3, 4]]), "cache": tf.ones([2, 3])},
        {"memory": tf.constant([5, 6]), "cache": tf.zeros([2, 3])},
    ],
    "memory": (tf.constant([7.0, 8.0]),),
}


def test_leaves_come_apart_and_together():
    layout = StateLayout(STATE, 2)
    assert layout.changes == [True, False, True, False, False]
    packed = layout.pack(layout.leaves)
    tf.nest.map_structure(np.testing.assert_array_equal, packed, STATE)


def test_memory_is_not_gathered_nor_replaced():
    layout = StateLayout(STATE, 2)
    other = tf.nest.map_structure(lambda leaf: leaf + 1, STATE)
    after = layout.pack(layout.unpack(other, layout.leaves))
    assert after["memory"][0].numpy().tolist() == [7, 8]
    assert after["layers"][1]["cache"].numpy().tolist() == [[1] * 3] * 2
    twice = layout.gather(layout.repeat(layout.leaves, 2), [3, 0, 0, 1])
    twice = layout.pack(twice)
    assert twice["memory"][0].numpy().tolist() == [7, 7, 8, 8]
    rows = tf.constant([[1.0], [2.0]])
    layout = StateLayout(rows, 2)
    (leaf,) = layout.gather(layout.repeat(layout.leaves, 2), [3, 0, 0, 1])
    assert leaf.numpy()[:, 0].tolist() == [2, 1, 1, 1]


def test_finished_rows_keep_their_leaves():
    layout = StateLayout({"memory": tf.zeros([2]), "a": tf.zeros([2, 3])}, 2)
    new = [tf.ones([2, 3]), tf.ones([2])]
    cache, memory = layout.freeze([True, False], layout.leaves, new)
    assert cache.numpy().tolist() == [[0] * 3, [1] * 3]
    assert memory.numpy().tolist() == [1, 1]


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
    ):
        with pytest.raises(ValueError, match=complaint):
            layout.unpack(state, layout.leaves)
