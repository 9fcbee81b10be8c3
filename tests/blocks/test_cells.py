import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.blocks import cells

ONES = tf.ones((2, 3))


@keras.saving.register_keras_serializable(package="test_cells")
class Summing(keras.layers.Layer):
    """A user's own cell, as Keras' guide writes one: no `training`."""

    state_size = 3

    def call(self, inputs, states):
        total = states[0] + inputs
        return total, [total]


def test_cells_are_made_by_name():
    cell = cells.make_cell("lstm", 4, use_bias=False)
    assert isinstance(cell, keras.layers.LSTMCell) and not cell.use_bias
    stack = cells.make_cell("gru", 4, 3, dropout=0.1, dtype="float64")
    assert [each.units for each in stack.cells] == [4, 4, 4]
    assert {each.dropout for each in stack.cells} == {0.1}
    assert stack.cells[2].compute_dtype == "float64"
    assert isinstance(cells.make_cell("simple", 4), keras.layers.SimpleRNNCell)
    with pytest.raises(ValueError, match=r"'lstm'.*Received: cell='LSTM'"):
        cells.make_cell("LSTM", 4)


@pytest.mark.parametrize("wrong", [keras.layers.Dense(3), "gru", None])
def test_what_is_no_cell_is_refused(wrong):
    with pytest.raises(ValueError, match="must be an RNN cell"):
        cells.check_cell(wrong)
    cells.check_cell(keras.layers.GRUCell(3))


@pytest.mark.parametrize(
    ("cell", "sizes"),
    [
        (keras.layers.GRUCell(4), [4]),
        (keras.layers.LSTMCell(4), [4, 4]),
        (cells.make_cell("lstm", 4, 2), [4, 4, 4, 4]),
        (cells.make_cell("simple", 4, 2), [4, 4]),
        (Summing(), [3]),
    ],
)
def test_states_are_a_flat_list_through_every_step(cell, sizes):
    states = cells.zero_states(cell, 2)
    assert [tuple(state.shape) for state in states] == [(2, s) for s in sizes]
    assert cells.state_sizes(cell) == sizes
    cell.build((None, 3))
    output, after = cells.step_cell(cell, ONES, states, training=True)
    assert output.shape == (2, cells.output_size(cell))
    assert [state.shape for state in after] == [x.shape for x in states]
    # By custom the first state is the output.
    own = cells.states_by_layer(cell, after)[-1][0]
    np.testing.assert_array_equal(own, output)


def test_given_states_are_checked_and_take_the_cells_dtype():
    cell = keras.layers.LSTMCell(3, dtype="float64")
    (h, c) = cells.as_states(cell, [ONES, 2 * ONES], 2)
    assert h.dtype == c.dtype == "float64" and c[0, 0] == 2.0
    for wrong in (ONES, [ONES, ONES, ONES], [ONES, tf.ones((2, 4))]):
        with pytest.raises(ValueError, match="the hidden state and the memory"):
            cells.as_states(cell, wrong, 2)


def test_what_is_dropped_is_forgotten_between_sequences():
    cell = keras.layers.GRUCell(3, dropout=0.5, recurrent_dropout=0.5)
    cell.build((None, 3))
    states = [ONES]
    steps = []
    for _ in range(2):
        steps.append(cells.step_cell(cell, ONES, states, training=True)[0])
    np.testing.assert_array_equal(*steps)
    cells.forget_dropout(cell)
    assert cell._dropout_mask is None and cell._recurrent_dropout_mask is None
