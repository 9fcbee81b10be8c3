import numpy as np
import pytest

from keras_attn.modifiers.locality import Locality
from keras_attn.ops import attention

TEMPERATURES = np.array([0.5, 2.0, 3.0])


@pytest.fixture
def heads(rng):
    return rng.normal(size=(2, 5, 3, 4)).astype("float32")


def with_temperatures(heads):
    modifier = Locality()
    modifier.build(heads.shape, heads.shape)
    modifier.temperature.assign(TEMPERATURES)
    return modifier


def weights_of(heads):
    """Section 3.3 of the paper in float64: (batch, heads, query, key)."""
    x = np.float64(heads)
    scores = np.einsum("bqhd,bkhd->bhqk", x, x)
    scores /= TEMPERATURES[:, None, None]
    scores[..., np.arange(5), np.arange(5)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def test_matches_the_equation(heads):
    modifier = with_temperatures(heads)
    _, weights = attention(
        heads, heads, heads, modifiers=[modifier], return_weights=True
    )
    np.testing.assert_allclose(weights, weights_of(heads), atol=1e-5)


def test_in_tiles_too(heads):
    modifier = with_temperatures(heads)
    output = attention(
        heads, heads, heads, modifiers=[modifier], implementation="tiled"
    )
    expected = np.einsum("bhqk,bkhd->bqhd", weights_of(heads), heads)
    np.testing.assert_allclose(output, expected, atol=1e-5)


def test_temperatures_start_from_the_usual_scale(heads):
    modifier = Locality()
    modifier.build(heads.shape, heads.shape)
    np.testing.assert_allclose(modifier.temperature, [2.0] * 3)  # √4
    mask = ~np.eye(5, dtype="bool")[None, None]
    np.testing.assert_allclose(
        attention(heads, heads, heads, modifiers=[modifier]),
        attention(heads, heads, heads, mask=mask),
        atol=1e-6,
    )


@pytest.mark.parametrize("implementation", ["dense", "tiled"])
def test_a_position_that_is_alone_sees_nothing(implementation, heads):
    alone = heads[:, :1]
    output = attention(
        alone,
        alone,
        alone,
        modifiers=[Locality()],
        implementation=implementation,
    )
    np.testing.assert_array_equal(output, np.zeros_like(alone))
