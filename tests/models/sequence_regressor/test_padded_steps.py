import keras
import numpy as np
import pytest

from keras_attn.models.sequence_regressor.padded_steps import PaddedSteps
from tests.contract import check_layer


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 4, 3)).astype("float32")


def test_contract(inputs, tmp_path):
    check_layer(
        PaddedSteps,
        {},
        {"inputs": inputs},
        output_shape=(2, 4, 3),
        tmp_path=tmp_path,
    )


@pytest.mark.parametrize("pad", [0, np.nan])
@pytest.mark.parametrize("functional", [False, True])
def test_what_is_nothing_at_the_end_is_padding(pad, functional, inputs):
    inputs[0, 2:] = pad
    inputs[1, 1] = 0  # a step between others
    layer = PaddedSteps()
    if functional:
        symbolic = keras.Input((None, 3))
        layer = keras.Model(symbolic, layer(symbolic))
    output = layer(inputs)
    mask = np.array([[True, True, False, False], [True] * 4])
    np.testing.assert_array_equal(output._keras_mask, mask)
    np.testing.assert_array_equal(output, np.where(mask[..., None], inputs, 0))


def test_a_mask_may_hide_more(inputs):
    mask = np.array([[True, False, True, True], [True, True, True, False]])
    output = PaddedSteps()(inputs, mask=mask)
    np.testing.assert_array_equal(output, np.where(mask[..., None], inputs, 0))


def test_frames_are_steps(rng):
    frames = rng.normal(size=(2, 3, 4, 5, 1))
    frames[0, 2] = 0
    mask = PaddedSteps()(frames)._keras_mask
    np.testing.assert_array_equal(mask, [[True, True, False], [True] * 3])
