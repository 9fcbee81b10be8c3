import keras
import pytest

from keras_attn.models.recurrent_layers import make_layer


def test_cells_go_by_name():
    assert type(make_layer("lstm", 3)) is keras.layers.LSTM
    assert type(make_layer("gru", 3)) is keras.layers.GRU
    layer = make_layer("simple", 3, return_sequences=True)
    assert type(layer) is keras.layers.SimpleRNN
    assert layer.return_sequences
    assert layer.units == 3


def test_what_is_no_cell_is_refused():
    with pytest.raises(ValueError, match=r"`cell` must be one of.*'lstm'"):
        make_layer("LSTM", 3)
    with pytest.raises(ValueError, match=r"`units` must be.*at least 1"):
        make_layer("gru", 0)
