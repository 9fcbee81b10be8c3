"""States as nests."""

import keras
import numpy as np
import tensorflow as tf

from keras_attn.base.state import State


def test_is_a_nest_to_keras_and_to_tensorflow():
    state = State({"cache": tf.zeros([2])}, [tf.ones([2])])
    for nest in (keras.tree, tf.nest):
        twice = nest.map_structure(lambda leaf: leaf + 1, state)
        assert isinstance(twice, State)
        assert twice.carried["cache"].numpy().tolist() == [1, 1]
        assert twice.constant[0].numpy().tolist() == [2, 2]
    assert tf.nest.flatten(State(())) == []


def test_goes_through_loops_and_saved_functions(tmp_path):
    class Saved(tf.Module):
        @tf.function
        def grow(self, state):
            assert isinstance(state, State)
            return state._replace(carried=state.carried + state.constant)

        @tf.function(input_signature=[tf.TensorSpec([None])])
        def twice(self, x):
            _, state = tf.while_loop(
                lambda index, state: index < 2,
                lambda index, state: (index + 1, self.grow(state)),
                (0, State(x, tf.ones_like(x))),
            )
            return state.carried

    tf.saved_model.save(Saved(), str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    np.testing.assert_array_equal(loaded.twice([1.0, 5.0]), [3, 7])
