import keras
import numpy as np
import pytest

from keras_attn.base.empty_batch import apply_to_rows


@pytest.fixture(scope="module")
def layer():
    layer = keras.layers.Conv1D(3, 2, padding="same")
    layer.build((None, 5, 4))
    return layer


def test_nothing_has_the_shape_that_rows_have(layer):
    assert apply_to_rows(layer, keras.ops.zeros((0, 5, 4))).shape == (0, 5, 3)


def test_rows_are_what_the_layer_makes_of_them(layer, rng):
    inputs = keras.ops.cast(rng.normal(size=(2, 5, 4)), "float32")
    np.testing.assert_array_equal(apply_to_rows(layer, inputs), layer(inputs))


def test_an_unknown_number_of_rows_is_left_to_the_layer(layer):
    assert apply_to_rows(layer, keras.Input((5, 4))).shape == (None, 5, 3)
