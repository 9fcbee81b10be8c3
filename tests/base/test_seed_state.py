import keras
import numpy as np
import pytest

from keras_attn.base.seed_state import seed_state_of
from keras_attn.layers import EncoderBlock
from keras_attn.layers import MultiHeadAttention

X = np.ones((2, 3, 4), "float32")


def model_of(layer):
    inputs = keras.Input((None, 4))
    outputs = layer(inputs, inputs) if is_attention(layer) else layer(inputs)
    return keras.Model(inputs, outputs)


def is_attention(layer):
    return isinstance(
        layer, (MultiHeadAttention, keras.layers.MultiHeadAttention)
    )


@pytest.mark.parametrize("ending", ["keras", "weights.h5"])
def test_a_loaded_model_goes_on_with_the_same_random_numbers(ending, tmp_path):
    model = model_of(EncoderBlock(2, 5, dropout=0.5))
    model(X, training=True)
    if ending == "keras":
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
    else:
        model.save_weights(tmp_path / "model.weights.h5")
        loaded = model_of(EncoderBlock(2, 5, dropout=0.5))
        loaded.load_weights(tmp_path / "model.weights.h5")
    for _ in range(2):
        np.testing.assert_array_equal(
            loaded(X, training=True), model(X, training=True)
        )


def test_keras_own_attention_reads_our_files_and_we_read_its(tmp_path):
    sides = (MultiHeadAttention, keras.layers.MultiHeadAttention)
    for source, target in (sides, sides[::-1]):
        saved, loaded = (
            model_of(side(2, 3, dropout=0.5)) for side in (source, target)
        )
        saved.save_weights(tmp_path / "attention.weights.h5")
        loaded.load_weights(tmp_path / "attention.weights.h5")
        np.testing.assert_allclose(loaded(X), saved(X), atol=1e-6)


def test_a_layer_without_seeds_shows_none():
    with pytest.raises(AttributeError, match="has no seeds"):
        seed_state_of(keras.layers.Dense(2))
    assert not hasattr(EncoderBlock(2, 5), "_seed_state")
