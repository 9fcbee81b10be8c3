import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.attention.self_attention import SelfAttention
from tests.contract import check_layer


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 5, 4)).astype("float32")


@pytest.mark.parametrize(
    "init",
    [{"units": 3}, {"units": 6, "causal": True, "dropout": 0.1}],
    ids=["plain", "causal_with_dropout"],
)
def test_contract(init, inputs, tmp_path):
    check_layer(
        SelfAttention,
        init,
        {"inputs": inputs},
        output_shape=(2, 5, init["units"]),
        tmp_path=tmp_path,
    )


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
def test_matches_the_equation(causal, inputs, rng):
    layer = SelfAttention(3, causal=causal, use_bias=True, dtype="float64")
    layer.build(inputs.shape)
    layer.set_weights([rng.normal(size=w.shape) for w in layer.weights])
    output, weights = layer(inputs, return_attention_scores=True)

    W_q, b_q, W_k, b_k, W_v, b_v = layer.get_weights()
    x = inputs.astype("float64")
    query, key, value = x @ W_q + b_q, x @ W_k + b_k, x @ W_v + b_v
    scores = query @ key.swapaxes(1, 2) / np.sqrt(3)
    exponentials = np.exp(scores) * (np.tri(5) if causal else 1.0)
    expected = exponentials / exponentials.sum(-1, keepdims=True)

    np.testing.assert_allclose(weights, expected, rtol=1e-6)
    np.testing.assert_allclose(output, expected @ value, rtol=1e-6)


def test_permuted_inputs_give_permuted_outputs(inputs, rng):
    layer = SelfAttention(3)
    order = rng.permutation(5)
    np.testing.assert_allclose(
        layer(inputs[:, order]),
        layer(inputs).numpy()[:, order],
        rtol=1e-5,
        atol=1e-6,
    )


def test_order_matters_if_it_is_causal(inputs):
    layer = SelfAttention(3, causal=True)
    backwards = layer(inputs[:, ::-1]).numpy()[:, ::-1]
    assert np.abs(backwards - layer(inputs)).max() > 1e-3


@pytest.mark.parametrize("where", ["constructor", "call"])
def test_no_position_sees_the_future(where, inputs):
    layer = SelfAttention(3, causal=where == "constructor")
    x = tf.Variable(inputs)
    with tf.GradientTape() as tape:
        output = layer(x, use_causal_mask=where == "call")
        second = tf.reduce_sum(output[:, 1] ** 2)
    moved = np.abs(tape.gradient(second, x)).max(axis=(0, 2)) > 0
    np.testing.assert_array_equal(moved, [True, True, False, False, False])


def test_a_position_that_may_see_nothing_gets_zeros(inputs):
    layer = SelfAttention(3, use_bias=True)
    x = tf.Variable(inputs)
    with tf.GradientTape() as tape:
        output = layer(x, attention_mask=np.zeros((5, 5), "bool"))
        loss = tf.reduce_sum(output)
    np.testing.assert_array_equal(output, np.zeros((2, 5, 3)))
    np.testing.assert_array_equal(tape.gradient(loss, x), np.zeros((2, 5, 4)))


@pytest.mark.parametrize("attention_mask", [None, np.ones((1, 1), "bool")])
def test_masks_arrive_from_and_leave_for_other_layers(attention_mask):
    embedding = keras.layers.Embedding(10, 6, mask_zero=True)
    output, weights = SelfAttention(3)(
        embedding(np.array([[1, 2, 0]])),
        attention_mask=attention_mask,
        return_attention_scores=True,
    )
    np.testing.assert_array_equal(weights[:, :, 2:], 0.0)
    np.testing.assert_array_equal(weights[:, 2], 0.0)
    np.testing.assert_array_equal(output[:, 2], 0.0)
    pooled = keras.layers.GlobalAveragePooling1D()(output)
    np.testing.assert_allclose(pooled, output[:, :2].numpy().mean(1), rtol=1e-5)


def test_looking_at_the_weights_never_changes_the_output(inputs):
    layer = SelfAttention(3, dropout=0.5)
    output, _ = layer(inputs, return_attention_scores=True)
    np.testing.assert_allclose(layer(inputs), output, rtol=1e-5, atol=1e-6)


def test_dropout_drops_weights_and_returns_those_that_were_used(inputs):
    layer = SelfAttention(3, dropout=0.5)
    _, kept = layer(inputs, return_attention_scores=True)
    output, weights = layer(inputs, return_attention_scores=True, training=True)
    value = layer.value_dense(inputs)
    np.testing.assert_allclose(output, weights @ value, rtol=1e-5, atol=1e-6)
    assert set(np.round(weights / kept, 4).flatten()) == {0.0, 2.0}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_large_numbers_stay_finite_in_half_precision(dtype):
    layer = SelfAttention(64, dtype=f"mixed_{dtype}")
    for dense in (layer.query_dense, layer.key_dense):
        dense.kernel_initializer = keras.initializers.Identity()
    x = tf.Variable(np.full((1, 3, 64), 33.0, "float32"))
    with tf.GradientTape() as tape:
        output = layer(x)
        loss = tf.reduce_sum(tf.cast(output, "float32"))
    assert np.isfinite(tf.cast(output, "float32")).all()
    assert np.isfinite(tape.gradient(loss, x)).all()


@pytest.mark.parametrize(
    "arguments, message",
    [({"units": 0}, "`units`.*at least 1"), ({"dropout": 1}, "`dropout`")],
    ids=["units", "dropout"],
)
def test_rejects_at_construction(arguments, message):
    with pytest.raises(ValueError, match=message):
        SelfAttention(**{"units": 3, **arguments})


@pytest.mark.parametrize(
    "name, shape, message",
    [
        ("inputs", (5, 4), "`inputs`.*3 axes"),
        ("attention_mask", (2, 4), "`attention_mask`.*broadcast"),
        ("mask", (2, 4), "one value for each position"),
    ],
    ids=["rank", "attention_mask", "mask"],
)
def test_rejects_at_the_first_call(name, shape, message, inputs):
    dtype = "float32" if name == "inputs" else "bool"
    call = {"inputs": inputs, name: np.ones(shape, dtype)}
    with pytest.raises(ValueError, match=message):
        SelfAttention(3)(**call)
