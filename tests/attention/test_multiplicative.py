import numpy as np
import pytest

from keras_attn.attention.multiplicative import MultiplicativeAttention
from tests.contract import check_layer


@pytest.fixture
def inputs(rng):
    return {
        "query": rng.normal(size=(2, 3, 4)).astype("float32"),
        "value": rng.normal(size=(2, 5, 6)).astype("float32"),
        "key": rng.normal(size=(2, 5, 7)).astype("float32"),
    }


@pytest.mark.parametrize(
    "init",
    [
        {},
        {
            "units": 2,
            "key_projection": "tanh",
            "value_projection": "linear",
            "dropout": 0.1,
        },
    ],
    ids=["general", "low_rank_with_functions"],
)
def test_contract(init, inputs, tmp_path):
    check_layer(
        MultiplicativeAttention,
        init,
        inputs,
        output_shape=(2, 3, 6),
        tmp_path=tmp_path,
    )


def softmax(scores):
    return np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)


def test_matches_the_general_equation(inputs):
    layer = MultiplicativeAttention(dtype="float64")
    output, weights = layer(**inputs, return_attention_scores=True)

    (W,) = layer.get_weights()  # (query_features, key_features)
    query, value, key = (x.astype("float64") for x in inputs.values())
    expected = softmax(np.einsum("bkf,ef,bqe->bqk", key, W, query))

    np.testing.assert_allclose(weights, expected, rtol=1e-12)
    np.testing.assert_allclose(output, expected @ value, rtol=1e-12)


def test_matches_the_low_rank_equation(inputs):
    layer = MultiplicativeAttention(units=2, dtype="float64")
    output, weights = layer(**inputs, return_attention_scores=True)

    W_q = layer.query_dense.kernel.numpy()
    W_k = layer.key_dense.kernel.numpy()
    query, value, key = (x.astype("float64") for x in inputs.values())
    expected = softmax((query @ W_q) @ (key @ W_k).swapaxes(1, 2))

    assert W_q.shape == (4, 2)
    assert W_k.shape == (7, 2)
    np.testing.assert_allclose(weights, expected, rtol=1e-12)
    np.testing.assert_allclose(output, expected @ value, rtol=1e-12)


def test_matches_the_equation_with_a_learned_key(inputs):
    layer = MultiplicativeAttention(key_projection="tanh", dtype="float64")
    _, weights = layer(**inputs, return_attention_scores=True)

    W_h, b = layer.key_layer.get_weights()
    W = layer.query_dense.kernel.numpy()
    query, _, h = (x.astype("float64") for x in inputs.values())
    key = np.tanh(h @ W_h + b)
    expected = softmax(query @ W @ key.swapaxes(1, 2))
    np.testing.assert_allclose(weights, expected, rtol=1e-12)


def test_rejects_a_rank_of_zero():
    with pytest.raises(ValueError, match=r"`units`.*at least 1"):
        MultiplicativeAttention(units=0)
