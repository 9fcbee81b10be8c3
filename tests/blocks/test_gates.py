import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.blocks import cells
from keras_attn.blocks import gates
from tests.blocks import recurrences
from tests.models.stepping import set_random

CELLS = {
    "gru": lambda **options: keras.layers.GRUCell(4, **options),
    "gru_reset_before": lambda **options: keras.layers.GRUCell(
        4, reset_after=False, **options
    ),
    "lstm": lambda **options: keras.layers.LSTMCell(4, **options),
    "simple": lambda **options: keras.layers.SimpleRNNCell(4, **options),
}


@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("kind", CELLS)
def test_matches_the_equations_and_keras(kind, use_bias, rng):
    cell = CELLS[kind](use_bias=use_bias, dtype="float64")
    cell.build((None, 5))
    set_random(cell, rng)
    x, more = rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 2))
    states = [tf.constant(rng.normal(size=(2, 4)))]
    states *= len(cells.state_sizes(cell))
    projected = gates.project(cell, x)
    both = np.concatenate([x[:, 1], more], axis=-1)
    output, after = gates.step(
        cell, gates.Projected(projected.product[:, 1]), states, more
    )
    wanted, last = recurrences.step_cell(cell, both, [states])
    np.testing.assert_allclose(output, wanted, atol=1e-12)
    for actual, each in zip(after, last[0], strict=True):
        np.testing.assert_allclose(actual, each, atol=1e-12)
    theirs, _ = cell(both, states)
    np.testing.assert_allclose(output, theirs, atol=1e-12)


def test_what_drops_or_is_not_known_is_left_to_the_cell(rng):
    class Own(keras.layers.GRUCell):
        """May do anything with what it is fed."""

    x = rng.normal(size=(2, 3, 5)).astype("float32")
    for cell, training, projected in (
        (keras.layers.GRUCell(4, dropout=0.1), False, True),
        (keras.layers.GRUCell(4, dropout=0.1), True, False),
        (keras.layers.GRUCell(4, recurrent_dropout=0.1), True, False),
        (Own(4), False, False),
    ):
        cell.build((None, 5))
        made = cells.project_inputs(cell, x, training)
        assert isinstance(made, gates.Projected) == projected
        assert projected or made is x
