import keras
import numpy as np
import pytest

from keras_attn.blocks.cells import make_cell
from keras_attn.blocks.recurrent import Recurrent
from tests.blocks import recurrences
from tests.contract import check_layer
from tests.contract import check_mask_goes_on


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 5, 3)).astype("float32")


@pytest.mark.slow  # as `AttentionRNN` has it, which is the same loop
def test_contract(inputs, tmp_path):
    cell = make_cell("gru", 4, 2, dropout=0.1)
    check_layer(
        Recurrent,
        {"cell": cell, "go_backwards": True},
        {"inputs": inputs},
        output_shape=(2, 5, 4),
        tmp_path=tmp_path,
    )
    check_mask_goes_on(Recurrent(keras.layers.GRUCell(4)), inputs)


@pytest.mark.parametrize("kind", ["gru", "lstm", "simple"])
@pytest.mark.parametrize("num_layers", [1, 2])
def test_matches_the_equation_and_keras(kind, num_layers, inputs):
    cell = make_cell(kind, 4, num_layers, dtype="float64")
    layer = Recurrent(cell, dtype="float64")
    outputs, *last = layer(inputs)
    stack = getattr(cell, "cells", [cell])
    states = [
        [np.zeros((2, s)) for s in np.atleast_1d(each.state_size)]
        for each in stack
    ]
    for t in range(5):
        wanted, states = recurrences.step_cell(cell, inputs[:, t], states)
        np.testing.assert_allclose(outputs[:, t], wanted, atol=1e-12)
    flat = [state for own in states for state in own]
    for actual, wanted in zip(last, flat, strict=True):
        np.testing.assert_allclose(actual, wanted, atol=1e-12)

    keras_layer = keras.layers.RNN(cell, return_sequences=True, dtype="float64")
    np.testing.assert_allclose(outputs, keras_layer(inputs), atol=1e-12)


def test_step_by_step_is_the_same_as_the_whole(inputs):
    layer = Recurrent(make_cell("gru", 4, 2))
    outputs, *last = layer(inputs)
    states = [np.zeros((2, 4), "float32")] * 2
    for t in range(5):
        output, states = layer.step(inputs[:, t], states)
        np.testing.assert_allclose(output, outputs[:, t], atol=1e-6)
    np.testing.assert_allclose(states[1], last[1], atol=1e-6)


def test_goes_on_where_it_stopped_past_padding(inputs):
    layer = Recurrent(keras.layers.LSTMCell(4))
    whole, *_ = layer(inputs)
    mask = np.array([[True, True, False, False, False]] * 2)
    _, *states = layer(inputs, mask=mask)
    rest, *_ = layer(inputs[:, 2:], initial_state=states)
    np.testing.assert_allclose(rest, whole[:, 2:], atol=1e-6)


def test_backwards_outputs_stand_where_their_inputs_do(inputs):
    cell = keras.layers.GRUCell(4)
    backward, last = Recurrent(cell, go_backwards=True)(inputs)
    forward, _ = Recurrent(cell)(inputs[:, ::-1])
    np.testing.assert_allclose(backward, forward[:, ::-1], atol=1e-6)
    np.testing.assert_allclose(last, backward[:, 0], atol=1e-6)
