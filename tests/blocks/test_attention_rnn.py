import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn import layers
from keras_attn.blocks.attention_cell import CONTEXTS
from keras_attn.blocks.attention_cell import AttentionCell
from keras_attn.blocks.attention_rnn import AttentionRNN
from keras_attn.blocks.cells import make_cell
from tests.blocks import recurrences
from tests.contract import check_layer
from tests.contract import check_mask_goes_on
from tests.loops import products_in_loops
from tests.models.stepping import set_random

MASK = np.array([[True] * 4, [True] * 2 + [False] * 2])
MEMORY_MASK = np.array([[True] * 6, [True] * 4 + [False] * 2])


def make_layer(context="input", kind="gru", *, dtype=None, **options):
    cell = AttentionCell(
        make_cell(kind, 4, 2 if context == "layer" else 1, dtype=dtype),
        layers.AdditiveAttention(7, dtype=dtype),
        context=context,
        dtype=dtype,
    )
    return AttentionRNN(
        cell, **{"return_sequences": True, "dtype": dtype, **options}
    )


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 4, 3)).astype("float32")


@pytest.fixture
def memory(rng):
    return rng.normal(size=(2, 6, 5)).astype("float32")


def test_contract(inputs, memory, tmp_path):
    cell = AttentionCell(
        keras.layers.GRUCell(4, dropout=0.1, recurrent_dropout=0.1),
        layers.AdditiveAttention(7, dropout=0.1),
        context="input",
        gate=True,
    )
    check_layer(
        AttentionRNN,
        {"cell": cell, "return_sequences": True, "return_state": True},
        {"inputs": inputs, "memory": memory},
        output_shape=(2, 4, 4),
        tmp_path=tmp_path,
    )


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_matches_the_equations(kind, context, rng):
    inputs, memory = rng.normal(size=(2, 4, 3)), rng.normal(size=(2, 6, 5))
    layer = make_layer(context, kind, dtype="float64", return_state=True)
    layer.build(inputs.shape, memory.shape)
    set_random(layer, rng)
    output, *states, weights = layer(
        inputs, memory, memory_mask=MEMORY_MASK, return_attention_scores=True
    )
    wanted, seen, last = recurrences.decode(
        layer.cell, inputs, memory, MEMORY_MASK
    )
    np.testing.assert_allclose(output, wanted, atol=1e-6)
    np.testing.assert_allclose(weights, seen, atol=1e-6)
    for actual, each in zip(states, last, strict=True):
        np.testing.assert_allclose(actual, each, atol=1e-6)


def test_starts_from_the_state_that_it_is_given(rng):
    inputs, memory = rng.normal(size=(2, 4, 3)), rng.normal(size=(2, 6, 5))
    start = [rng.normal(size=(2, 4)) for _ in range(2)]
    layer = make_layer("input", "lstm", dtype="float64")
    output = layer(inputs, memory, initial_state=start)
    wanted, _, _ = recurrences.decode(
        layer.cell, inputs, memory, states=[start]
    )
    np.testing.assert_allclose(output, wanted, atol=1e-6)


@pytest.mark.parametrize("context", CONTEXTS)
def test_goes_on_from_the_states_of_another_call(context, inputs, memory):
    layer = make_layer(context, return_state=True)
    whole, *_ = layer(inputs, memory)
    _, *states = layer(inputs[:, :2], memory)
    rest, *_ = layer(inputs[:, 2:], memory, initial_state=states)
    np.testing.assert_allclose(rest, whole[:, 2:], atol=1e-6)


def test_the_last_output_is_that_of_the_last_real_step(inputs, memory):
    layer = make_layer()
    whole = layer(inputs, memory).numpy()
    layer.return_sequences = False
    last = layer(inputs, memory, mask=MASK)
    np.testing.assert_allclose(last, [whole[0, 3], whole[1, 1]], atol=1e-6)
    np.testing.assert_allclose(layer(inputs, memory), whole[:, 3], atol=1e-6)


def test_masks_arrive_through_keras(rng):
    source, target = keras.Input((None,)), keras.Input((None,))
    memory = keras.layers.Embedding(9, 5, mask_zero=True)(source)
    inputs = keras.layers.Embedding(9, 3, mask_zero=True)(target)
    layer = make_layer(return_state=True)
    output, state = layer(inputs, memory)
    pooled = keras.layers.GlobalAveragePooling1D()(output)
    model = keras.Model([source, target], [pooled, state])
    source, target = rng.integers(1, 9, (2, 6)), rng.integers(1, 9, (2, 4))
    wanted = model([source, target])
    padded = [np.pad(x, [(0, 0), (0, 3)]) for x in (source, target)]
    for actual, each in zip(model(padded), wanted, strict=True):
        np.testing.assert_allclose(actual, each, atol=1e-6)


def test_the_mask_goes_on_with_a_sequence_only(inputs, memory):
    layer = make_layer()
    check_mask_goes_on(lambda x: layer(x, memory), inputs)
    tensor = tf.constant(inputs)
    tensor._keras_mask = tf.constant(MASK)
    last = make_layer(return_sequences=False)(tensor, memory)
    assert getattr(last, "_keras_mask", None) is None


def test_it_learns_in_fit_and_half_precision(inputs, memory):
    layer = make_layer("layer", "lstm", dtype="mixed_float16")
    source, target = keras.Input((6, 5)), keras.Input((4, 3))
    model = keras.Model([source, target], layer(target, source))
    model.compile("sgd", "mse", jit_compile=False)
    before = [w.numpy() for w in model.trainable_weights]
    model.fit([memory, inputs], np.ones((2, 4, 4)), verbose=0)
    for weight, old in zip(model.trainable_weights, before, strict=True):
        assert np.abs(weight.numpy() - old).max() > 0, weight.path


def test_no_tensor_of_a_graph_stays_behind(inputs, memory):
    cell = keras.layers.GRUCell(4, dropout=0.5)
    layer = AttentionRNN(AttentionCell(cell, layers.AdditiveAttention(7)))
    tf.function(lambda: layer(inputs, memory, training=True))()
    for owner in (layer, layer.cell, cell, layer.cell.attention):
        for name, value in vars(owner).items():
            kept = tf.is_tensor(value) and not isinstance(value, keras.Variable)
            assert not kept, name
    layer(inputs, memory, training=True)


def test_wrong_arguments_are_refused(inputs, memory):
    with pytest.raises(ValueError, match="must be an `AttentionCell`"):
        AttentionRNN(keras.layers.GRUCell(4))
    with pytest.raises(ValueError, match="batch, target, features"):
        make_layer()(inputs[:, 0], memory)
    with pytest.raises(ValueError, match="states of the cell"):
        make_layer(kind="lstm")(
            inputs, memory, initial_state=np.ones((2, 4), "float32")
        )
    layer = make_layer("attentional")
    with pytest.raises(ValueError, match=r"\(batch, 4\).*\(2, 3\)"):
        layer(inputs, memory, initial_state=[np.ones((2, 3), "float32")])


def test_the_loop_has_no_product_that_all_steps_share(inputs, memory):
    layer = make_layer()
    specs = [tf.TensorSpec(x.shape) for x in (inputs, memory)]
    function = tf.function(layer, autograph=False)
    (products,) = products_in_loops(function, *specs)
    # W_q s, v · tanh(…), the weighted sum, C c and U s: neither W_k h nor W x.
    assert len(products) == 5, products


def test_gradients_that_all_steps_share_wait_until_the_loop_is_over(
    inputs, memory
):
    layer = make_layer()
    layer.build(inputs.shape, memory.shape)

    def gradients(inputs, memory):
        with tf.GradientTape() as tape:
            tape.watch(memory)
            output = layer(inputs, memory)
        weights = [each.value for each in layer.trainable_variables]
        return tape.gradient(output, [memory, *weights])

    specs = [tf.TensorSpec(x.shape) for x in (inputs, memory)]
    function = tf.function(gradients, autograph=False)
    _, products = products_in_loops(function, *specs)
    # Of the five only v · tanh(…) has two here, of which one is that of v.
    assert len(products) == 6, products
