import numpy as np
import pytest

from keras_attn.models.vilbert.region_embedding import RegionEmbedding
from keras_attn.models.vilbert.region_embedding import has_area
from tests.blocks import equations
from tests.contract import check_layer
from tests.models.stepping import set_random

# Two regions and one; the rest of the second row is padding.
BOXES = np.array(
    [
        [[0.0, 0.1, 0.5, 0.3], [0.2, 0.2, 1.0, 1.0]],
        [[0.25, 0.5, 0.5, 1.0], [0.0, 0.0, 0.0, 0.0]],
    ],
    "float32",
)


@pytest.fixture
def features(rng):
    return rng.normal(size=(2, 2, 5)).astype("float32")


def made(rng, **options):
    layer = RegionEmbedding(4, **options)
    layer.build((None, None, 5), (None, None, 4))
    set_random(layer, rng)
    return layer


def test_contract(features, tmp_path):
    check_layer(
        RegionEmbedding,
        {"units": 4, "dropout": 0.1, "epsilon": 0.1},
        {"features": features, "boxes": BOXES},
        output_shape=(2, 3, 4),
        tmp_path=tmp_path,
        padded=(),
    )


def test_matches_the_equation(features, rng):
    """Section 2.2: features, corners and area; IMG is their mean."""
    layer = made(rng, epsilon=equations.EPSILON)
    feature, location = (
        [np.float64(w) for w in dense.get_weights()]
        for dense in (layer.feature_dense, layer.location_dense)
    )
    seen = {
        0: ((BOXES[0, 0], 0.1), (BOXES[0, 1], 0.64)),
        1: ((BOXES[1, 0], 0.125),),
    }
    output = layer(features, BOXES)
    for row, regions in seen.items():
        x = np.float64(features[row, : len(regions)])
        x = np.concatenate([x.mean(axis=0, keepdims=True), x])
        where = [[0, 0, 1, 1, 1]]
        where += [[*np.float64(box), area] for box, area in regions]
        x = x @ feature[0] + feature[1]
        x += np.array(where) @ location[0] + location[1]
        expected = equations.normalize(layer.normalize, x, "layer")
        np.testing.assert_allclose(
            output[row, : len(x)], expected, rtol=1e-4, atol=1e-5
        )
    mask = [[True, True, True], [True, True, False]]
    np.testing.assert_array_equal(output._keras_mask, mask)


@pytest.mark.parametrize("number", [np.nan, np.inf, 7.0])
def test_padding_says_nothing_to_the_image(number, features, rng):
    layer = made(rng)
    spoilt = features.copy()
    spoilt[1, 1] = number
    np.testing.assert_array_equal(
        layer(spoilt, BOXES)[:, :2], layer(features, BOXES)[:, :2]
    )


def test_an_image_without_regions_is_finite(features, rng):
    output = made(rng)(features, np.zeros_like(BOXES))
    assert np.isfinite(output).all()
    assert not np.any(output._keras_mask[:, 1:])
    assert np.all(output._keras_mask[:, 0])


def test_half_precision_sees_thin_boxes():
    thin = np.array([[[0.9996, 0.0, 1.0, 1.0]]], "float32")
    layer = RegionEmbedding(4, dtype="mixed_float16")
    output = layer(np.ones((1, 1, 5), "float32"), thin)
    assert output.dtype == "float16"
    assert np.all(output._keras_mask)


def test_a_box_without_area_is_padding():
    boxes = np.array([[0, 0, 1, 1], [0.5, 0, 0.5, 1], [0, 1, 1, 0]])
    np.testing.assert_array_equal(has_area(boxes), [True, False, False])


def test_refuses_other_shapes(features):
    with pytest.raises(ValueError, match=r"`boxes` must be.*\(2, 2, 5\)"):
        RegionEmbedding(4)(features, features)
    with pytest.raises(ValueError, match=r"`features` must be.*\(2, 5\)"):
        RegionEmbedding(4)(features[:, 0], BOXES)
    with pytest.raises(ValueError, match="`units` must be"):
        RegionEmbedding(0)
