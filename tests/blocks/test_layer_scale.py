import numpy as np
import pytest

from keras_attn.blocks.layer_scale import LayerScale
from tests.contract import check_layer
from tests.contract import check_mask_goes_on


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 3, 4)).astype("float32")


def test_contract(inputs, tmp_path):
    check_layer(
        LayerScale,
        {"initial": 0.5},
        {"inputs": inputs},
        output_shape=(2, 3, 4),
        tmp_path=tmp_path,
        padded=(),  # it looks at no other position
    )
    check_mask_goes_on(LayerScale(), inputs)


def test_matches_the_equation(inputs, rng):
    layer = LayerScale()
    layer.build(inputs.shape)
    np.testing.assert_array_equal(layer.scale, np.full(4, 1e-5, "float32"))
    scale = rng.normal(size=4).astype("float32")
    layer.scale.assign(scale)
    np.testing.assert_array_equal(layer(inputs), inputs * scale)


def test_it_starts_from_what_is_given(inputs):
    np.testing.assert_array_equal(LayerScale(0.25)(inputs), inputs / 4)
