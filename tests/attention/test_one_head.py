import numpy as np
import pytest

from keras_attn.attention.one_head import one_head_attention


@pytest.fixture
def inputs(rng):
    return {
        "query": rng.normal(size=(2, 3, 4)),
        "key": rng.normal(size=(2, 5, 4)),
        "value": rng.normal(size=(2, 5, 6)),
    }


def softmax(scores):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(-1, keepdims=True)


def test_matches_the_equation(inputs):
    output, weights = one_head_attention(
        **inputs, scale=0.3, return_weights=True
    )
    scores = 0.3 * inputs["query"] @ inputs["key"].swapaxes(1, 2)
    expected = softmax(scores)
    np.testing.assert_allclose(weights, expected, rtol=1e-6)
    np.testing.assert_allclose(output, expected @ inputs["value"], rtol=1e-6)


def test_weights_come_only_when_asked_for(inputs):
    assert one_head_attention(**inputs)[1] is None


def test_causality_counts_from_the_start_of_both_sequences(inputs):
    _, weights = one_head_attention(**inputs, causal=True, return_weights=True)
    seen = np.array(weights) > 0
    np.testing.assert_array_equal(seen, [np.tri(3, 5, dtype="bool")] * 2)


def test_the_mask_hides(inputs):
    mask = np.array([[[1, 0, 1, 0, 0]], [[0, 1, 1, 1, 1]]], "bool")
    _, weights = one_head_attention(**inputs, mask=mask, return_weights=True)
    seen = np.array(weights) > 0
    np.testing.assert_array_equal(seen, np.repeat(mask, 3, axis=1))
