import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn import layers
from keras_attn.blocks.attention_cell import CONTEXTS
from keras_attn.blocks.attention_cell import AttentionCell
from keras_attn.blocks.cells import make_cell
from tests.blocks import recurrences
from tests.contract import check_layer
from tests.models.stepping import set_random

ATTENTION = {
    "dot": lambda: layers.DotAttention(score="dot", dtype="float64"),
    "multiplicative": lambda: layers.MultiplicativeAttention(dtype="float64"),
    "additive": lambda: layers.AdditiveAttention(8, dtype="float64"),
    "local": lambda: layers.LocalAttention(2, dtype="float64"),
    "location": lambda: layers.LocationSensitiveAttention(
        8, filters=2, kernel_size=3, dtype="float64"
    ),
}
MASK = np.array([[True] * 6, [True] * 4 + [False] * 2])


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 3)).astype("float32")


@pytest.fixture
def memory(rng):
    return rng.normal(size=(2, 6, 5)).astype("float32")


@pytest.mark.slow  # as `AttentionRNN` has it, of such a cell
def test_contract(inputs, memory, tmp_path):
    check_layer(
        AttentionCell,
        {
            "cell": keras.layers.GRUCell(4, dropout=0.1),
            "attention": layers.AdditiveAttention(7),
            "context": "input",
        },
        {"inputs": inputs, "memory": memory},
        output_shape=(2, 4),
        tmp_path=tmp_path,
        padded=["memory"],
        # The hidden state before the first step is zeros.
        powerless=["recurrent_kernel", "query/kernel"],
    )


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("score", ATTENTION)
@pytest.mark.parametrize("kind", ["gru", "lstm", "simple"])
def test_step_by_step_matches_the_equations(kind, score, context, rng):
    inputs, memory = rng.normal(size=(2, 4, 3)), rng.normal(size=(2, 6, 5))
    cell = AttentionCell(
        # A dot product needs equal widths.
        make_cell(kind, 5, 2 if context == "layer" else 1, dtype="float64"),
        ATTENTION[score](),
        context=context,
        gate=context == "input",
        dtype="float64",
    )
    cell.build((2, 3), (2, 6, 5))
    set_random(cell, rng)
    wanted, weights, last = recurrences.decode(cell, inputs, memory, MASK)
    projected = cell.project_memory(memory, mask=MASK)
    states = cell.as_states(None, projected)
    for t in range(4):
        outputs, states = cell.step(
            tf.constant(inputs[:, t]),
            states,
            projected,
            positions=tf.constant([t]),
        )
        np.testing.assert_allclose(
            outputs["output"], wanted[:, t], atol=1e-6, rtol=1e-5
        )
        np.testing.assert_allclose(
            outputs["weights"], weights[:, t], atol=1e-6, rtol=1e-5
        )
    for actual, each in zip(states, last, strict=True):
        np.testing.assert_allclose(actual, each, atol=1e-6, rtol=1e-5)


def test_a_call_is_one_step(inputs, memory):
    cell = AttentionCell(keras.layers.LSTMCell(4), layers.AdditiveAttention(7))
    output, *states = cell(inputs, memory)
    again, *_ = cell(inputs, memory, states, memory_mask=MASK)
    projected = cell.project_memory(memory, mask=MASK)
    outputs, _ = cell.step(inputs, states, projected)
    np.testing.assert_allclose(again, outputs["output"], atol=1e-6)
    assert outputs["context"].shape == (2, 5)
    assert np.abs(again - output).max() > 1e-3


def test_any_attention_and_any_cell_will_do(inputs, memory):
    cell = AttentionCell(
        make_cell("lstm", 4, 2),
        layers.MultiHeadAttention(2, 6, modifiers=["rotary"]),
        context="readout",
    )
    output, *states = cell(inputs, memory)
    assert output.shape == (2, 8) and len(states) == 4
    projected = cell.project_memory(memory)
    outputs, _ = cell.step(inputs, states, projected)
    assert outputs["weights"].shape == (2, 2, 6)  # of two heads


def test_goes_on_from_all_that_a_call_returned(inputs, memory):
    cell = AttentionCell(
        keras.layers.GRUCell(4),
        layers.LocationSensitiveAttention(7),
        context="attentional",
    )
    _, *states = cell(inputs, memory)
    assert [tuple(x.shape) for x in states] == [(2, 4), (2, 4), (2, 6, 2)]
    projected = cell.project_memory(memory)
    for actual, wanted in zip(
        cell.as_states(states, projected), states, strict=True
    ):
        np.testing.assert_array_equal(actual, wanted)
    # The cell's own alone: the others start anew.
    _, fed, location = cell.as_states(states[:1], projected)
    assert not np.any(fed) and np.all(location[:, 0, 0] == 1)
    with pytest.raises(
        ValueError, match=r"\(2, 6, 2\) in place of \(2, 3, 2\)"
    ):
        cell.as_states(states, cell.project_memory(memory[:, :3]))


def test_states_are_dropped_before_each_step_of_training(inputs, memory):
    cell = AttentionCell(
        keras.layers.GRUCell(500),
        layers.AdditiveAttention(7),
        context="readout",
        state_dropout=0.25,
    )
    cell.build((2, 3), (2, 6, 5))
    # A GRU without products keeps half of its state, and adds nothing.
    for weight in cell.cell.weights:
        weight.assign(np.zeros(weight.shape))
    projected, ones = cell.project_memory(memory), np.ones((2, 500), "float32")
    _, (kept,) = cell.step(inputs, [ones], projected, training=True)
    _, (other,) = cell.step(inputs, [ones], projected, training=True)
    np.testing.assert_allclose(np.unique(kept), [0, 2 / 3], atol=1e-6)
    assert 0.15 < np.mean(kept == 0) < 0.35
    assert np.any(kept != other)
    _, (whole,) = cell.step(inputs, [ones], projected)
    np.testing.assert_allclose(whole, 0.5)


def test_padding_only_gives_a_context_of_zeros(inputs, memory):
    cell = AttentionCell(keras.layers.GRUCell(4), layers.AdditiveAttention(7))
    cell.build((2, 3), (2, 6, 5))
    mask = np.zeros((2, 6), "bool")
    for projected in (
        cell.project_memory(memory, mask=mask),
        cell.project_memory(memory[:, :0]),
    ):
        states = cell.as_states(None, projected)
        outputs, _ = cell.step(inputs, states, projected)
        np.testing.assert_array_equal(outputs["context"], np.zeros((2, 5)))


def test_a_stack_is_asked_for_where_the_context_goes_to_the_next_layer():
    with pytest.raises(ValueError, match="StackedRNNCells"):
        AttentionCell(
            keras.layers.GRUCell(4),
            layers.AdditiveAttention(7),
            context="layer",
        )


def test_wrong_arguments_are_refused():
    good = keras.layers.GRUCell(4)
    with pytest.raises(ValueError, match="Of a layer such as"):
        AttentionCell(keras.layers.Dense(4), layers.AdditiveAttention(7))
    with pytest.raises(ValueError, match="project a memory once"):
        AttentionCell(good, keras.layers.Attention())
    with pytest.raises(ValueError, match=r"'readout'.*Received: context='out'"):
        AttentionCell(good, layers.AdditiveAttention(7), context="out")
    with pytest.raises(ValueError, match="state_dropout=1"):
        AttentionCell(good, layers.AdditiveAttention(7), state_dropout=1)


def test_a_memory_of_the_wrong_shape_is_refused(inputs, memory):
    cell = AttentionCell(keras.layers.GRUCell(4), layers.AdditiveAttention(7))
    with pytest.raises(ValueError, match="flattened first"):
        cell.build((2, 3), (2, 6, 5, 4))
    cell.build((2, 3), (2, 6, 5))
    with pytest.raises(ValueError, match="memory of 5 features"):
        cell(inputs, memory[:, :, :4])
    dot = AttentionCell(keras.layers.GRUCell(4), layers.DotAttention())
    with pytest.raises(ValueError, match="MultiplicativeAttention"):
        dot(inputs, memory)
