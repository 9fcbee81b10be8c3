import keras
import pytest

from keras_attn.models.rnn_language_model import conditions


def test_a_number_is_the_length_of_a_vector():
    given, encoder = conditions.as_input(3, "mixed_float16")
    assert given.shape == (None, 3)
    assert given.dtype == "float32"
    assert encoder is None


def test_a_model_is_called_with_what_it_takes():
    model = keras.Sequential(
        [keras.Input((4, 5), dtype="uint8"), keras.layers.Flatten()]
    )
    given, encoder = conditions.as_input(model, None)
    assert given.shape == (None, 4, 5)
    assert given.dtype == "uint8"
    assert encoder is model


def test_every_state_has_its_own_map():
    layers = [keras.layers.LSTM(3), keras.layers.GRU(4)]
    (hidden, cell), (other,) = conditions.state_maps(layers, None)
    assert [m.units for m in (hidden, cell, other)] == [3, 3, 4]
    assert len({hidden.name, cell.name, other.name}) == 3


@pytest.mark.parametrize("condition", [keras.layers.Dense(3), "image"])
def test_what_makes_no_vector_is_refused(condition):
    with pytest.raises(ValueError, match="functional model that returns"):
        conditions.as_input(condition, None)


def test_a_model_of_sequences_is_refused():
    model = keras.Sequential([keras.Input((4, 5)), keras.layers.Dense(3)])
    with pytest.raises(ValueError, match=r"\(batch, features\)"):
        conditions.as_input(model, None)
