import json

import keras
import numpy as np
import pytest

from keras_attn.base import quantization
from keras_attn.layers import EncoderBlock


@pytest.fixture
def model():
    inputs = keras.Input((None, 4))
    return keras.Model(inputs, EncoderBlock(2, 5)(inputs))


def test_notes_what_is_quantised_and_restores_it(model, rng):
    assert quantization.modes(model) == {}
    block = model.layers[-1]
    block.feed_forward.hidden_dense.quantize("int8")
    modes = quantization.modes(model)
    assert [each["mode"] for each in modes.values()] == ["int8"]
    json.dumps(modes)

    twin = keras.models.clone_model(model)
    quantization.restore(twin, modes)
    quantization.restore(twin, modes)  # what is quantised stays as it is
    assert quantization.modes(twin) == modes
    twin.set_weights(model.get_weights())
    x = rng.normal(size=(2, 3, 4)).astype("float32")
    np.testing.assert_array_equal(twin(x), model(x))


def test_a_block_in_a_file_stays_as_it_was_quantised(model, tmp_path, rng):
    model.layers[-1].feed_forward.output_dense.quantize("int8")
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    block = loaded.layers[-1]
    assert block.feed_forward.output_dense.quantization_mode == "int8"
    assert block.feed_forward.hidden_dense.quantization_mode is None
    x = rng.normal(size=(2, 3, 4)).astype("float32")
    np.testing.assert_array_equal(loaded(x), model(x))
