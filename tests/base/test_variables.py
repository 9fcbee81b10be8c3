import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.base.variables import assign_rows
from keras_attn.base.variables import without_initial_values


def make_layer():
    layer = keras.layers.Dense(
        3,
        kernel_initializer=keras.initializers.RandomNormal(seed=4),
        bias_initializer="ones",
    )
    layer.build((None, 2))
    return layer


def test_variables_are_zero_until_they_are_given_their_values():
    with without_initial_values() as values:
        layer = make_layer()
    for variable in layer.weights:
        assert not np.any(variable)
    values.give([layer.kernel])
    np.testing.assert_array_equal(layer.kernel, make_layer().kernel)
    assert not np.any(layer.bias)


def test_values_that_are_there_already_are_kept():
    with without_initial_values() as values:
        variable = keras.Variable(np.array([5.0, 6.0], "float32"))
    np.testing.assert_array_equal(variable, [5, 6])
    values.give([variable])
    np.testing.assert_array_equal(variable, [5, 6])


def test_outside_nothing_changes():
    with without_initial_values():
        pass
    assert np.all(make_layer().bias.numpy() == 1)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("strategy", [None, "mirrored"])
def test_rows_are_overwritten(dtype, strategy):
    def make():
        return keras.Variable(np.zeros((5, 2)), dtype=dtype)

    if strategy is None:
        variable = make()
    else:
        with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
            variable = make()
    assign_rows(variable, 1, np.array([[1, 2], [3, 4]], "float32"))
    np.testing.assert_array_equal(
        tf.cast(variable.value, "float32"),
        [[0, 0], [1, 2], [3, 4], [0, 0], [0, 0]],
    )
