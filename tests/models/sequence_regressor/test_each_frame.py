import keras
import numpy as np
import pytest

from keras_attn.models.sequence_regressor.each_frame import EachFrame
from tests.contract import check_mask_goes_on


def encoder():
    return keras.Sequential(
        [
            keras.Input((4, 5, 2)),
            keras.layers.Conv2D(3, 2),
            keras.layers.GlobalMaxPooling2D(),
        ]
    )


@pytest.fixture
def frames(rng):
    return rng.normal(size=(2, 6, 4, 5, 2)).astype("float32")


def test_every_frame_is_encoded_on_its_own(frames):
    layer = EachFrame(encoder())
    output = layer(frames)
    for t in range(6):
        np.testing.assert_allclose(
            output[:, t], layer.encoder(frames[:, t]), rtol=1e-5, atol=1e-6
        )


def test_it_gives_what_time_distributed_gives(frames):
    model = encoder()
    np.testing.assert_allclose(
        EachFrame(model)(frames),
        keras.layers.TimeDistributed(model)(frames),
        rtol=1e-5,
        atol=1e-6,
    )


def test_the_mask_goes_past(frames):
    check_mask_goes_on(EachFrame(encoder()), frames)


def test_is_made_again_from_its_config(frames):
    layer = EachFrame(encoder())
    twin = EachFrame.from_config(layer.get_config())
    twin.set_weights(layer.get_weights())
    np.testing.assert_array_equal(twin(frames), layer(frames))


@pytest.mark.parametrize("wrong", [keras.layers.Dense(3), None])
def test_what_makes_no_vector_of_a_frame_is_refused(wrong):
    with pytest.raises(ValueError, match="functional model that returns"):
        EachFrame(wrong)
