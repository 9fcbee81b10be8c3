import keras
import numpy as np
import pytest

from keras_attn.blocks.feed_forward import FeedForward
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
            "activation": "gelu_tanh",
            "use_bias": False,
            "dropout": 0.2,
            "kernel_initializer": "he_normal",
        },
    ],
    ids=["plain", "all_arguments"],
)
def test_contract(init, inputs, tmp_path):
    check_layer(
        FeedForward,
        init,
        {"inputs": inputs},
        output_shape=(2, 3, 4),
        tmp_path=tmp_path,
        padded=(),  # it looks at no other position
    )
    check_mask_goes_on(FeedForward(**init), inputs)


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu"])
def test_matches_the_equation(activation, inputs, rng):
    layer = FeedForward(7, activation=activation)
    layer.build(inputs.shape)
    equations.randomise(layer, rng)
    expected = equations.feed_forward(layer, inputs, activation)
    np.testing.assert_allclose(layer(inputs), expected, atol=1e-5)


def test_without_biases_there_are_two_matrices(inputs):
    layer = FeedForward(7, use_bias=False)
    layer(inputs)
    assert [w.shape for w in layer.weights] == [(4, 7), (7, 4)]


def test_dropout_is_only_for_training_and_on_the_hidden_vector(inputs):
    layer = FeedForward(7, dropout=0.5, activation="linear")
    np.testing.assert_array_equal(layer(inputs), layer(inputs, training=False))
    dropped = layer(inputs, training=True)
    assert np.abs(dropped - layer(inputs)).max() > 1e-3
    # Of the output itself nothing is dropped.
    assert np.all(dropped != 0)


def test_the_two_matrices_start_apart():
    layer = FeedForward(4)
    layer.build((None, None, 4))
    one, other = layer.hidden_dense.kernel, layer.output_dense.kernel
    assert np.abs(one - other).max() > 1e-2


def test_an_activation_of_ones_own_is_saved(inputs):
    @keras.saving.register_keras_serializable("keras_attn")
    def cubed(x):
        return x**3

    layer = FeedForward(7, activation=cubed)
    twin = FeedForward.from_config(layer.get_config())
    assert twin.activation is cubed


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"hidden_dim": 0}, "`hidden_dim` must be an integer of at least 1"),
        ({"hidden_dim": 2.5}, "`hidden_dim` must be an integer"),
        ({"dropout": 1.5}, "`dropout` must be"),
        ({"activation": "wobble"}, "wobble"),
    ],
)
def test_refuses_to_be_made(init, message):
    with pytest.raises(ValueError, match=message):
        FeedForward(**{"hidden_dim": 7, **init})
