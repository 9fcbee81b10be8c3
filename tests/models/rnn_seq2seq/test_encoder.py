import numpy as np
import pytest

from keras_attn.models.rnn_seq2seq.encoder import RecurrentEncoder
from tests.blocks import recurrences


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 5, 3))


def read(cell, inputs, backwards=False):
    """(batch, source, units) of one direction, and its last states."""
    order = range(inputs.shape[1])
    states = [[np.zeros((2, s)) for s in np.atleast_1d(cell.state_size)]]
    outputs = np.zeros((2, inputs.shape[1], cell.units))
    for t in reversed(order) if backwards else order:
        outputs[:, t], states = recurrences.step_cell(
            cell, inputs[:, t], states
        )
    return outputs, states[0]


@pytest.mark.parametrize("reverse", [False, True])
def test_two_directions_of_two_layers_match_the_equations(reverse, inputs):
    encoder = RecurrentEncoder(
        "lstm",
        4,
        num_layers=2,
        bidirectional=True,
        reverse=reverse,
        dtype="float64",
    )
    memory, *states = encoder(inputs)
    x, wanted = inputs, []
    for layer in range(2):
        both = []
        for direction in range(2):
            cell = encoder.directions[2 * layer + direction].cell
            outputs, own = read(cell, x, backwards=direction != reverse)
            both.append(outputs)
            wanted += own
        x = np.concatenate(both, axis=-1)
    np.testing.assert_allclose(memory, x, atol=1e-12)
    for actual, each in zip(states, wanted, strict=True):
        np.testing.assert_allclose(actual, each, atol=1e-12)


def test_padding_on_either_side_changes_nothing(inputs):
    encoder = RecurrentEncoder("gru", 4, bidirectional=True)
    wanted = encoder(inputs)
    for before, after in ((0, 3), (2, 1)):
        wide = ((0, 0), (before, after), (0, 0))
        longer = np.pad(inputs, wide, constant_values=np.nan)
        mask = np.pad(np.ones((2, 5), "bool"), wide[:2])
        memory, *states = encoder(longer, mask=mask)
        np.testing.assert_allclose(
            memory[:, before : before + 5], wanted[0], atol=1e-6
        )
        for actual, each in zip(states, wanted[1:], strict=True):
            np.testing.assert_allclose(actual, each, atol=1e-6)


def test_an_empty_source_leaves_zeros(inputs):
    encoder = RecurrentEncoder("gru", 4)
    memory, state = encoder(inputs[:, :0])
    assert memory.shape == (2, 0, 4)
    np.testing.assert_array_equal(state, np.zeros((2, 4)))
