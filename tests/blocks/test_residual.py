import numpy as np
import pytest

from keras_attn.blocks.residual import Residual
from keras_attn.blocks.residual import make_normalization
from tests.blocks import equations
from tests.contract import check_mask_goes_on

NORMS = ["post", "pre", "both"]
NORMALIZATIONS = ["layer", "rms", "batch"]


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(6, 3, 4)).astype("float32")


def go_around(layer, x, sublayer, **options):
    return layer.after(x, sublayer(layer.before(x)), **options)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_matches_the_equation(norm, normalization, inputs, rng):
    layer = Residual(norm=norm, normalization=normalization)
    layer.build(inputs.shape)
    equations.randomise(layer, rng)
    expected = equations.residual(
        layer,
        inputs.astype("float64"),
        np.sin,
        norm=norm,
        normalization=normalization,
    )
    output = go_around(layer, inputs, lambda x: np.sin(np.array(x)))
    np.testing.assert_allclose(output, expected, atol=1e-5)


def test_a_branch_that_is_left_out_is_not_normalised(inputs):
    layer = Residual(norm="both", stochastic_depth=0.5, layer_scale=0.25)
    layer.build(inputs.shape)
    added = layer.after(inputs, np.sin(inputs), training=True) - inputs
    squares = np.mean(np.square(added), axis=(1, 2))
    # Of variance 1 times what keeps the mean, or nothing at all.
    assert set(np.round(squares, 2)) == {0.0, 0.25}


def test_epsilon_is_added_to_the_variance():
    layer = Residual(epsilon=3.0)
    layer.build((None, None, 2))
    output = layer.after(np.zeros((1, 1, 2)), np.array([[[-1.0, 1.0]]]))
    np.testing.assert_allclose(output, [[[-0.5, 0.5]]], rtol=1e-6)


def test_the_scale_is_on_the_branch_alone(inputs):
    layer = Residual(norm="pre", layer_scale=0.5)
    layer.build(inputs.shape)
    output = layer.after(inputs, np.ones_like(inputs))
    np.testing.assert_allclose(output, inputs + 0.5, rtol=1e-6)


def test_dropout_is_on_the_branch_alone_and_only_for_training(inputs):
    layer = Residual(norm="pre", dropout=0.5)
    layer.build(inputs.shape)
    ones = np.ones_like(inputs)
    np.testing.assert_allclose(layer.after(inputs, ones), inputs + 1)
    added = layer.after(inputs, ones, training=True) - inputs
    assert set(np.round(added, 4).ravel()) == {0.0, 2.0}


def test_an_example_may_go_past_the_branch(inputs):
    layer = Residual(norm="pre", stochastic_depth=0.5)
    layer.build(inputs.shape)
    ones = np.ones_like(inputs)
    np.testing.assert_allclose(layer.after(inputs, ones), inputs + 1)
    seen = set()
    for _ in range(5):
        added = layer.after(inputs, ones, training=True) - inputs
        for example in np.round(added, 4):
            assert len(np.unique(example)) == 1
            seen.add(float(example[0, 0]))
    assert seen == {0.0, 2.0}


def test_the_config_is_the_constructor():
    config = {
        "norm": "pre",
        "normalization": "rms",
        "epsilon": 1e-3,
        "dropout": 0.1,
        "layer_scale": 0.2,
        "stochastic_depth": 0.3,
    }
    layer = Residual(**config)
    twin = Residual.from_config(layer.get_config())
    assert twin.get_config() == layer.get_config()
    assert config.items() <= twin.get_config().items()


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_every_part_computes_in_the_policy(normalization, inputs):
    layer = Residual(
        normalization=normalization, layer_scale=0.1, dtype="mixed_bfloat16"
    )
    layer.build(inputs.shape)
    assert layer.after(inputs, inputs).dtype == "bfloat16"
    assert {weight.dtype for weight in layer.weights} == {"float32"}


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_no_normalisation_drops_the_mask(normalization, inputs):
    check_mask_goes_on(make_normalization(normalization, 1e-5), inputs)


def test_a_normalisation_is_made_by_its_name(inputs):
    norm = make_normalization("rms", 1e-5)
    output = norm(inputs)
    np.testing.assert_allclose(np.mean(output**2, -1), 1.0, rtol=1e-3)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"norm": "mid"}, "`norm` must be one of.*norm='mid'"),
        ({"normalization": "group"}, "`normalization` must be one of"),
        ({"stochastic_depth": 1.0}, "`stochastic_depth` must be"),
        ({"dropout": 1.0}, "`dropout` must be"),
    ],
)
def test_refuses_to_be_made(init, message):
    with pytest.raises(ValueError, match=message):
        Residual(**init)
