import numpy as np
import pytest

from keras_attn.layers import MaskedConvolution
from tests.contract import check_layer
from tests.contract import check_mask_goes_on


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 5, 4)).astype("float32")


def test_contract(inputs, tmp_path):
    check_layer(
        MaskedConvolution,
        {"units": 6, "kernel_size": 3},
        {"inputs": inputs},
        output_shape=(2, 5, 6),
        tmp_path=tmp_path,
    )


def test_matches_the_equation(inputs):
    layer = MaskedConvolution(6, 3, dtype="float64")
    output = layer(inputs)
    kernel, bias = (np.array(weight) for weight in layer.weights)
    x = np.pad(inputs.astype("float64"), [(0, 0), (1, 1), (0, 0)])
    for t in range(5):
        expected = np.einsum("bif,ifu->bu", x[:, t : t + 3], kernel) + bias
        np.testing.assert_allclose(
            output[:, t], np.maximum(expected, 0), rtol=1e-12
        )


def test_the_mask_goes_on(inputs):
    check_mask_goes_on(MaskedConvolution(6, 3), inputs)
