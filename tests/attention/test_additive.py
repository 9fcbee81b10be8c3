import numpy as np
import pytest

from keras_attn.attention.additive import AdditiveAttention
from tests.contract import check_layer


@pytest.fixture
def inputs(rng):
    return {
        "query": rng.normal(size=(2, 3, 4)).astype("float32"),
        "value": rng.normal(size=(2, 5, 6)).astype("float32"),
    }


@pytest.mark.parametrize(
    "init",
    [
        {"units": 7},
        {
            "units": 1,
            "use_bias": True,
            "key_projection": "tanh",
            "value_projection": "linear",
            "dropout": 0.1,
        },
    ],
    ids=["plain", "one_unit_with_everything"],
)
def test_contract(init, inputs, tmp_path):
    check_layer(
        AdditiveAttention,
        init,
        inputs,
        output_shape=(2, 3, 6),
        tmp_path=tmp_path,
    )


@pytest.mark.parametrize("use_bias", [False, True], ids=["plain", "bias"])
def test_matches_the_equation(use_bias, inputs, rng):
    layer = AdditiveAttention(7, use_bias=use_bias, dtype="float64")
    layer(**inputs)
    b = rng.normal(size=7) if use_bias else 0.0
    if use_bias:
        layer.query_dense.bias.assign(b)
    output, weights = layer(**inputs, return_attention_scores=True)

    W_q = layer.query_dense.kernel.numpy()
    W_k = layer.key_dense.kernel.numpy()
    v = layer.score_vector.numpy()
    query, value = (x.astype("float64") for x in inputs.values())
    hidden = np.tanh((query @ W_q)[:, :, None] + (value @ W_k)[:, None] + b)
    scores = hidden @ v
    expected = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)

    np.testing.assert_allclose(weights, expected, rtol=1e-12)
    np.testing.assert_allclose(output, expected @ value, rtol=1e-12)


def test_has_the_weights_of_the_paper_and_no_more(inputs):
    layer = AdditiveAttention(7)
    layer(**inputs)
    shapes = [tuple(weight.shape) for weight in layer.weights]
    assert sorted(shapes) == [(4, 7), (6, 7), (7,)]


def test_rejects_a_layer_without_units():
    with pytest.raises(ValueError, match=r"`units`.*at least 1"):
        AdditiveAttention(0)
