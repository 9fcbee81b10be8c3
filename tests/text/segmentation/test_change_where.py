import pytest
import tensorflow as tf

from keras_attn.text.segmentation.change_where import change_where


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ([True, False, True], [b"A", b"b", b"C"]),
        ([False, False, False], [b"a", b"b", b"c"]),
        ([True, True, True], [b"A", b"B", b"C"]),
    ],
    ids=["some", "none", "all"],
)
def test_only_chosen_strings_are_changed(chosen, expected):
    changed = change_where(
        tf.constant(chosen), tf.strings.upper, tf.constant(["a", "b", "c"])
    )
    assert changed.numpy().tolist() == expected


def test_others_are_not_looked_at():
    seen = []

    def change(strings):
        seen.extend(strings.numpy())
        return strings

    change_where(tf.constant([False, True]), change, tf.constant(["a", "b"]))
    assert seen == [b"b"]


def test_a_batch_may_be_empty():
    nothing = tf.zeros([0], tf.string)
    changed = change_where(tf.zeros([0], tf.bool), tf.strings.upper, nothing)
    assert changed.shape == (0,)
