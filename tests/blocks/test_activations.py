import math

import keras
import numpy as np
import pytest

from keras_attn.blocks import activations


def test_the_tanh_formula_of_gelu(rng):
    x = rng.normal(size=9, scale=3.0)
    expected = (
        0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    )
    np.testing.assert_allclose(activations.gelu_tanh(x), expected, rtol=1e-6)
    exact = keras.activations.gelu(x)
    assert np.abs(exact - expected).max() > 1e-5


def test_the_exact_gelu_is_that_of_keras(rng):
    x = rng.normal(size=9, scale=3.0)
    expected = [0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x]
    np.testing.assert_allclose(activations.gelu(x), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["gelu_tanh", "gelu", "relu", "silu"])
def test_names_come_back(name):
    function = activations.get(name)
    assert callable(function)
    assert activations.serialize(function) == name


def test_functions_stay_as_they_are():
    assert activations.get(keras.ops.square) is keras.ops.square
    assert activations.get(activations.gelu_tanh) is activations.gelu_tanh


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="wobble"):
        activations.get("wobble")
