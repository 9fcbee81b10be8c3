import numpy as np
import pytest

from keras_attn.attention.locality import LocalitySelfAttention
from keras_attn.blocks.encoder import EncoderBlock
from tests.contract import check_layer
from tests.contract import check_mask_goes_on


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 5, 6)).astype("float32")


def randomized(layer, shape, rng):
    layer.build(shape)
    layer.set_weights(
        [rng.uniform(0.5, 1.5, size=w.shape) for w in layer.weights]
    )
    return layer


def attended(layer, x, real):
    """Section 3.3 of the paper in float64, and the weights."""
    attention = layer.attention
    query, key, value = (
        np.einsum("btf,fhd->bthd", x, np.float64(dense.kernel))
        for dense in (
            attention.query_dense,
            attention.key_dense,
            attention.value_dense,
        )
    )
    temperature = np.float64(attention.modifiers[0].temperature)
    scores = np.einsum("bqhd,bkhd->bhqk", query, key)
    scores /= temperature[:, None, None]
    hidden = np.eye(x.shape[1], dtype="bool") | ~real[:, None, :]
    scores = np.where(hidden[:, None], -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    heads = np.einsum("bhqk,bkhd->bqhd", weights, value)
    kernel, bias = attention.output_dense.get_weights()
    output = np.einsum("bqhd,hdf->bqf", heads, np.float64(kernel)) + bias
    return output, weights


@pytest.mark.parametrize(
    "init",
    [
        {"num_heads": 3, "dropout": 0.2},
        {"num_heads": 2, "key_dim": 5, "use_bias": True},
    ],
    ids=["plain", "biases"],
)
def test_contract(init, inputs, tmp_path):
    check_layer(
        LocalitySelfAttention,
        init,
        {"inputs": inputs},
        output_shape=(2, 5, 6),
        tmp_path=tmp_path,
        powerless=["key/bias"],
    )
    check_mask_goes_on(LocalitySelfAttention(**init), inputs)


@pytest.mark.parametrize("implementation", ["dense", "tiled"])
def test_matches_the_equation(implementation, inputs, rng):
    layer = LocalitySelfAttention(3, 4, implementation=implementation)
    randomized(layer, inputs.shape, rng)
    real = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], "bool")
    expected, expected_weights = attended(layer, np.float64(inputs), real)
    output = layer(inputs, mask=real)
    np.testing.assert_allclose(output[0], expected[0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(
        output[1, :3], expected[1, :3], rtol=1e-4, atol=1e-4
    )
    _, weights = layer(inputs, mask=real, return_attention_scores=True)
    np.testing.assert_allclose(
        weights[0], expected_weights[0], rtol=1e-4, atol=1e-5
    )


def test_each_head_has_a_temperature_and_there_is_nothing_else_new(inputs):
    layer = LocalitySelfAttention(3)
    layer.build(inputs.shape)
    temperature = layer.attention.modifiers[0].temperature
    np.testing.assert_allclose(temperature, [2**0.5] * 3)
    # Three maps without bias, one with.
    assert layer.count_params() == 4 * 6 * 6 + 6 + 3


def test_a_block_has_it_by_the_name_of_the_modifier(inputs, rng):
    block = EncoderBlock(
        3,
        7,
        attention={
            "modifiers": ["locality"],
            "use_bias": False,
            "use_output_bias": True,
        },
    )
    block.build(inputs.shape)
    layer = randomized(LocalitySelfAttention(3), inputs.shape, rng)
    block.self_attention.set_weights(layer.attention.get_weights())
    _, weights = block(inputs, return_attention_scores=True)
    _, expected = layer(inputs, return_attention_scores=True)
    np.testing.assert_allclose(weights, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"num_heads": 0}, "`num_heads` must be"),
        ({"num_heads": 2, "key_dim": 0}, "`key_dim` must be"),
        ({"num_heads": 4}, "num_heads=4, features=6.*give `key_dim`"),
        ({"num_heads": 2, "dropout": 1.0}, "`dropout` must be"),
    ],
)
def test_refuses_sizes_that_do_not_fit(init, message, inputs):
    with pytest.raises(ValueError, match=message):
        LocalitySelfAttention(**init)(inputs)
