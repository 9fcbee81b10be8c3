import numpy as np
import pytest

from keras_attn.embeddings.patch import PatchEmbedding
from keras_attn.models.vilbert.patch_regions import PatchRegions
from keras_attn.models.vilbert.patch_regions import grid_boxes
from tests.contract import check_layer


@pytest.fixture
def images(rng):
    return rng.normal(size=(2, 4, 6, 3)).astype("float32")


def test_contract(images, tmp_path):
    check_layer(
        PatchRegions,
        {"patch_size": (2, 3)},
        {"images": images},
        output_shape=(2, 4, 18),
        tmp_path=tmp_path,
        padded=(),
        shortest=2,
    )


def test_features_and_boxes_are_those_of_the_pixels(images):
    features, boxes = PatchRegions((2, 3))(images)
    for index, (left, top, right, bottom) in enumerate(np.array(boxes[1])):
        rows = slice(round(4 * top), round(4 * bottom))
        columns = slice(round(6 * left), round(6 * right))
        pixels = images[1, rows, columns]
        np.testing.assert_array_equal(features[1, index], pixels.ravel())


def test_a_linear_map_of_them_embeds_patches(images):
    embedding = PatchEmbedding(2, 5)
    expected = embedding(images)
    features, _ = PatchRegions(2)(images)
    np.testing.assert_allclose(
        embedding.projection(features), expected, rtol=1e-6
    )


def test_boxes_go_row_by_row():
    expected = [[0, 0, 0.5, 1 / 3], [0.5, 0, 1, 1 / 3], [0, 1 / 3, 0.5, 2 / 3]]
    boxes = grid_boxes(3, 2)
    assert boxes.shape == (6, 4)
    np.testing.assert_allclose(boxes[:3], expected, rtol=1e-6)


def test_refuses_patches_that_do_not_fit(images):
    with pytest.raises(ValueError, match="`patch_size` must divide"):
        PatchRegions(5)(images)
