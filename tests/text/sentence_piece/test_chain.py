import numpy as np
import tensorflow as tf

from keras_attn.text.sentence_piece.chain import reached


def test_what_jumps_lead_to_is_reached():
    goals = tf.constant([2, 3, 5, 4, 6, 6, 6], tf.int64)
    starts = tf.constant([True] + [False] * 6)
    found = reached(starts, goals).numpy().tolist()
    assert found == [True, False, True, False, False, True, True]


def test_long_chains_are_followed_to_their_ends():
    rng = np.random.default_rng(0)
    size = 1000
    goals = np.minimum(np.arange(size) + rng.integers(1, 4, size), size - 1)
    expected = np.zeros(size, bool)
    place = 3
    while not expected[place]:
        expected[place] = True
        place = goals[place]
    starts = np.arange(size) == 3
    found = reached(tf.constant(starts), tf.constant(goals, tf.int64))
    np.testing.assert_array_equal(found, expected)


def test_no_start_reaches_nothing():
    goals = tf.constant([1, 1], tf.int64)
    assert not reached(tf.zeros([2], tf.bool), goals).numpy().any()
