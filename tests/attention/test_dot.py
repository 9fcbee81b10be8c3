import math

import numpy as np
import pytest

from keras_attn.attention.dot import DotAttention
from tests.contract import check_layer


@pytest.fixture
def inputs(rng):
    return {
        "query": rng.normal(size=(2, 3, 4)).astype("float32"),
        "value": rng.normal(size=(2, 5, 6)).astype("float32"),
        "key": rng.normal(size=(2, 5, 4)).astype("float32"),
    }


@pytest.mark.parametrize(
    "init, powerless",
    [
        ({}, ()),
        (
            {"score": "dot", "key_projection": "linear", "dropout": 0.1},
            # Every key of a query gains the same q · b.
            ("key_projection/bias",),
        ),
        ({"key_projection": "tanh", "value_projection": "relu"}, ()),
    ],
    ids=["plain", "linear_key_with_dropout", "learned_functions"],
)
def test_contract(init, powerless, inputs, tmp_path):
    check_layer(
        DotAttention,
        init,
        inputs,
        output_shape=(2, 3, 6),
        tmp_path=tmp_path,
        powerless=powerless,
    )


@pytest.mark.parametrize(
    "score, scale",
    [("dot", 1.0), ("scaled_dot", 1 / math.sqrt(4))],
    ids=["dot", "scaled"],
)
def test_matches_the_equation(score, scale, inputs):
    layer = DotAttention(score=score, dtype="float64")
    output, weights = layer(**inputs, return_attention_scores=True)

    query, value, key = (x.astype("float64") for x in inputs.values())
    scores = scale * query @ key.swapaxes(1, 2)
    expected = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)

    np.testing.assert_allclose(weights, expected, rtol=1e-12)
    np.testing.assert_allclose(output, expected @ value, rtol=1e-12)


def test_matches_the_equation_with_learned_functions(inputs):
    layer = DotAttention(
        score="dot",
        key_projection="tanh",
        value_projection="relu",
        dtype="float64",
    )
    output = layer(inputs["query"], inputs["value"])

    query, h, _ = (x.astype("float64") for x in inputs.values())
    layer.key_layer.bias.assign([1.0, 2.0, 3.0, 4.0])
    layer.value_layer.bias.assign([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    output = layer(inputs["query"], inputs["value"])
    W_k, b_k = layer.key_layer.get_weights()
    W_v, b_v = layer.value_layer.get_weights()
    key = np.tanh(h @ W_k + b_k)
    value = np.maximum(h @ W_v + b_v, 0.0)
    scores = query @ key.swapaxes(1, 2)
    expected = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.testing.assert_allclose(output, expected @ value, rtol=1e-12)


def test_plain_dot_attention_has_nothing_to_learn(inputs):
    layer = DotAttention()
    layer(**inputs)
    assert layer.weights == []


def test_widths_that_differ_need_another_layer_or_a_key_function(inputs):
    query, value = inputs["query"], inputs["value"]
    with pytest.raises(ValueError, match="Use `MultiplicativeAttention`"):
        DotAttention()(query, value)
    output = DotAttention(key_projection="linear")(query, value)
    assert output.shape == (2, 3, 6)


def test_rejects_an_unknown_score():
    with pytest.raises(ValueError, match=r"`score`.*'scaled_dot'.*'cosine'"):
        DotAttention(score="cosine")
