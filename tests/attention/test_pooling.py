import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.attention.pooling import AttentionPooling
from tests.contract import check_layer


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 5, 4)).astype("float32")


@pytest.mark.parametrize(
    "init, output_shape",
    [
        ({"units": 3}, (2, 4)),
        ({"units": 6, "num_queries": 3, "dropout": 0.1}, (2, 3, 4)),
    ],
    ids=["one_query", "three_queries_with_dropout"],
)
def test_contract(init, output_shape, inputs, tmp_path):
    check_layer(
        AttentionPooling,
        init,
        {"inputs": inputs},
        output_shape=output_shape,
        tmp_path=tmp_path,
    )


def equation(layer, x):
    """(batch, num_queries, length) weights, as the docstring has them."""
    W, b = layer.hidden_dense.get_weights()
    scores = np.tanh(x @ W + b) @ layer.query.numpy().T
    exponentials = np.exp(scores)
    weights = exponentials / exponentials.sum(1, keepdims=True)
    return weights.swapaxes(1, 2)


def set_bias(layer, inputs, rng):
    layer.build(inputs.shape)
    layer.hidden_dense.bias.assign(rng.normal(size=layer.units))


def test_matches_the_equation(inputs, rng):
    layer = AttentionPooling(3, dtype="float64")
    set_bias(layer, inputs, rng)
    output, weights = layer(inputs, return_attention_scores=True)
    x = inputs.astype("float64")
    expected = equation(layer, x)
    np.testing.assert_allclose(weights, expected[:, 0], rtol=1e-12)
    np.testing.assert_allclose(output, (expected @ x)[:, 0], rtol=1e-12)


def test_matches_the_equation_with_several_queries(inputs, rng):
    layer = AttentionPooling(3, num_queries=6, dtype="float64")
    set_bias(layer, inputs, rng)
    output, weights = layer(inputs, return_attention_scores=True)
    x = inputs.astype("float64")
    expected = equation(layer, x)
    np.testing.assert_allclose(weights, expected, rtol=1e-12)
    np.testing.assert_allclose(output, expected @ x, rtol=1e-12)


def test_an_image_is_pooled_over_all_its_pixels(rng):
    image = rng.normal(size=(2, 3, 5, 4)).astype("float32")
    mask = rng.random((2, 3, 5)) < 0.5
    layer = AttentionPooling(6, num_queries=2)
    output, weights = layer(image, mask=mask, return_attention_scores=True)
    pixels, flat = layer(
        image.reshape(2, 15, 4),
        mask=mask.reshape(2, 15),
        return_attention_scores=True,
    )
    assert weights.shape == (2, 2, 3, 5)
    np.testing.assert_allclose(output, pixels, rtol=1e-6)
    np.testing.assert_allclose(weights, flat.numpy().reshape(2, 2, 3, 5))


def test_padding_does_not_count(inputs, rng):
    layer = AttentionPooling(3)
    mask = np.array([[True] * 3 + [False] * 2] * 2)
    before = layer(inputs, mask=mask)
    np.testing.assert_allclose(before, layer(inputs[:, :3]), rtol=1e-5)
    inputs[:, 3:] = rng.normal(size=(2, 2, 4))
    np.testing.assert_array_equal(layer(inputs, mask=mask), before)


def test_a_row_of_nothing_but_padding_gives_zeros(inputs):
    layer = AttentionPooling(3)
    x = tf.Variable(inputs)
    mask = np.array([[False] * 5, [True] * 5])
    with tf.GradientTape() as tape:
        output = layer(x, mask=mask)
        loss = tf.reduce_sum(output)
    np.testing.assert_array_equal(output[0], 0.0)
    gradient = tape.gradient(loss, x)
    np.testing.assert_array_equal(gradient[0], 0.0)
    assert np.isfinite(gradient[1]).all()


def test_masks_arrive_from_other_layers_and_end_here():
    embedding = keras.layers.Embedding(10, 6, mask_zero=True)
    inputs = keras.Input((None,), dtype="int32")
    layer = AttentionPooling(3)
    outputs = layer(embedding(inputs), return_attention_scores=True)
    model = keras.Model(inputs, outputs)
    pooled, weights = model(np.array([[1, 2, 0]]))
    np.testing.assert_array_equal(weights[:, 2:], 0.0)
    alone, _ = model(np.array([[1, 2]]))
    np.testing.assert_allclose(pooled, alone, rtol=1e-5)
    assert layer.compute_mask(None, np.ones((1, 3), "bool")) is None


def test_the_order_of_positions_does_not_matter(inputs, rng):
    layer = AttentionPooling(3)
    order = rng.permutation(5)
    np.testing.assert_allclose(
        layer(inputs[:, order]), layer(inputs), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_large_numbers_stay_finite_in_half_precision(dtype):
    layer = AttentionPooling(3, dtype=f"mixed_{dtype}")
    output = layer(np.full((1, 3, 64), 3e4, "float32"))
    assert np.isfinite(tf.cast(output, "float32")).all()


def test_dropout_waits_for_training(inputs):
    layer = AttentionPooling(3, num_queries=6, dropout=0.5)
    output, kept = layer(inputs, return_attention_scores=True)
    np.testing.assert_array_equal(layer(inputs), output)
    output, weights = layer(inputs, return_attention_scores=True, training=True)
    np.testing.assert_allclose(output, weights @ inputs, rtol=1e-5, atol=1e-6)
    assert set(np.round(weights / kept, 4).flatten()) == {0.0, 2.0}


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"units": 0}, "`units`.*at least 1"),
        ({"num_queries": 0}, "`num_queries`.*at least 1"),
        ({"dropout": 1.5}, "`dropout`"),
    ],
    ids=["units", "num_queries", "dropout"],
)
def test_rejects_at_construction(arguments, message):
    with pytest.raises(ValueError, match=message):
        AttentionPooling(**{"units": 3, **arguments})


@pytest.mark.parametrize(
    "name, array, message",
    [
        ("inputs", np.ones((5, 4), "f"), "`inputs` must have positions"),
        ("mask", np.ones((2, 4), "bool"), "`mask`.*each position"),
        ("mask", np.full((2, 5), 0.5), "`mask` must be boolean"),
    ],
    ids=["rank", "mask_length", "float_mask"],
)
def test_rejects_at_the_first_call(name, array, message, inputs):
    with pytest.raises(ValueError, match=message):
        AttentionPooling(3)(**{"inputs": inputs, name: array})
