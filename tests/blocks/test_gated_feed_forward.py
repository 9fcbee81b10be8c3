import numpy as np
import pytest

from keras_attn.blocks.gated_feed_forward import GatedFeedForward
from tests.blocks import equations
from tests.contract import check_layer
from tests.contract import check_mask_goes_on


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 3, 4)).astype("float32")


@pytest.mark.parametrize(
    "init",
    [
        {"hidden_dim": 7},
        {
            "hidden_dim": 5,
            "activation": "gelu",
            "use_bias": True,
            "dropout": 0.2,
            "kernel_initializer": "he_normal",
        },
    ],
    ids=["swiglu", "all_arguments"],
)
def test_contract(init, inputs, tmp_path):
    check_layer(
        GatedFeedForward,
        init,
        {"inputs": inputs},
        output_shape=(2, 3, 4),
        tmp_path=tmp_path,
        padded=(),  # it looks at no other position
    )
    check_mask_goes_on(GatedFeedForward(**init), inputs)


@pytest.mark.parametrize("activation", ["silu", "gelu"])
def test_matches_the_equation(activation, inputs):
    layer = GatedFeedForward(7, activation=activation)
    output = layer(inputs)
    w_1, w_2, w_3 = (
        dense.kernel.numpy().astype("float64")
        for dense in (layer.hidden_dense, layer.output_dense, layer.value_dense)
    )
    gate = equations.ACTIVATIONS[activation](inputs @ w_1)
    expected = (gate * (inputs @ w_3)) @ w_2
    np.testing.assert_allclose(output, expected, atol=1e-5)


def test_matches_the_equation_with_biases(inputs, rng):
    layer = GatedFeedForward(7, use_bias=True)
    layer.build(inputs.shape)
    equations.randomise(layer, rng)
    expected = equations.feed_forward(layer, inputs, "swiglu")
    np.testing.assert_allclose(layer(inputs), expected, atol=1e-5)


def test_by_default_there_are_three_matrices(inputs):
    layer = GatedFeedForward(7)
    layer(inputs)
    shapes = sorted(tuple(w.shape) for w in layer.weights)
    assert shapes == [(4, 7), (4, 7), (7, 4)]


def test_dropout_is_only_for_training(inputs):
    layer = GatedFeedForward(7, dropout=0.5)
    np.testing.assert_array_equal(layer(inputs), layer(inputs, training=False))
    dropped = layer(inputs, training=True)
    assert np.abs(dropped - layer(inputs)).max() > 1e-3


def test_refuses_a_hidden_vector_of_no_length():
    with pytest.raises(ValueError, match="`hidden_dim` must be an integer"):
        GatedFeedForward(0)
