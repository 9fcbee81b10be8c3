import keras
import numpy as np
import pytest

from keras_attn.embeddings.learned_position import LearnedPosition
from keras_attn.embeddings.named_position import make_position

ONES = keras.initializers.Constant(1.0)
VECTORS = np.zeros((1, 3, 4), "float32")


def make(name, **options):
    return make_position(name, max_length=5, initializer=ONES, **options)


def test_learned_positions_take_length_and_initializer():
    layer = make("learned", dtype="float64")
    assert isinstance(layer, LearnedPosition)
    assert layer.max_length == 5
    np.testing.assert_array_equal(layer(VECTORS), VECTORS + 1)
    assert layer(VECTORS).dtype == "float64"


def test_sines_take_turns_with_cosines_or_stand_before_them():
    angles = np.arange(3)[:, None] * [1, 10000**-0.5]
    sines, cosines = np.sin(angles), np.cos(angles)
    turns = np.stack([sines, cosines], axis=-1).reshape(3, 4)
    np.testing.assert_allclose(make("sine")(VECTORS)[0], turns, atol=1e-6)
    halves = np.concatenate([sines, cosines], axis=-1)
    np.testing.assert_allclose(
        make("split_sine")(VECTORS)[0], halves, atol=1e-6
    )


def test_there_may_be_none_and_other_names_are_refused():
    assert make(None) is None
    with pytest.raises(ValueError, match="`position` must be one of"):
        make("sines")
