import keras
import numpy as np
import pytest

from keras_attn.embeddings.patch import PatchEmbedding
from keras_attn.embeddings.patch import as_pair
from keras_attn.embeddings.patch import as_patches
from tests.contract import check_layer


@pytest.fixture
def images(rng):
    return rng.normal(size=(2, 4, 9, 5)).astype("float32")


def patches_of(images, height, width):
    """Section 3.1 of the paper, patch by patch."""
    patches = [
        images[:, top : top + height, left : left + width]
        for top in range(0, images.shape[1], height)
        for left in range(0, images.shape[2], width)
    ]
    flat = [np.float64(patch).reshape(len(images), -1) for patch in patches]
    return np.stack(flat, axis=1)


@pytest.mark.parametrize(
    ("init", "patches"),
    [
        ({"patch_size": (2, 3), "units": 7}, 6),
        ({"patch_size": 1, "units": 3, "use_bias": False}, 36),
    ],
    ids=["pixels", "grid"],
)
def test_contract(init, patches, images, tmp_path):
    check_layer(
        PatchEmbedding,
        init,
        {"images": images},
        output_shape=(2, patches, init["units"]),
        tmp_path=tmp_path,
        padded=(),  # images have none
        shortest=2,
    )


@pytest.mark.parametrize("size", [(2, 3), (4, 1), (1, 1), (4, 9)])
def test_patches_are_cut_row_by_row(size, images):
    patches = as_patches(images, size)
    np.testing.assert_array_equal(patches, patches_of(images, *size))


def test_matches_the_equation(images):
    layer = PatchEmbedding((2, 3), 7)
    output = layer(images)
    kernel, bias = (np.float64(x) for x in layer.projection.get_weights())
    expected = patches_of(images, 2, 3) @ kernel + bias
    np.testing.assert_allclose(output, expected, atol=1e-5)


def test_is_a_convolution_whose_stride_is_its_kernel(images):
    layer = PatchEmbedding((2, 3), 7)
    output = layer(images)
    convolution = keras.layers.Conv2D(7, (2, 3), strides=(2, 3))
    convolution.build(images.shape)
    kernel, bias = layer.projection.get_weights()
    convolution.set_weights([kernel.reshape(2, 3, 5, 7), bias])
    expected = np.reshape(convolution(images), (2, 6, 7))
    np.testing.assert_allclose(output, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2, 4, 8, 3), r"patch_size=\(2, 3\), image_size=\(4, 8\)"),
        ((2, 1, 9, 3), r"image_size=\(1, 9\)"),
        ((4, 9, 3), r"\(batch, height, width, channels\).*x\[..., None\]"),
    ],
)
def test_refuses_images_that_it_cannot_cut(shape, message):
    layer = PatchEmbedding((2, 3), 7)
    with pytest.raises(ValueError, match=message):
        layer(np.zeros(shape, "float32"))


def test_refuses_images_of_another_size_after_it_was_built(images):
    layer = PatchEmbedding((2, 3), 7)
    layer(images)
    with pytest.raises(ValueError, match="must divide both sides"):
        layer(images[:, :, :8])


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"patch_size": 0, "units": 7}, "`patch_size` must be an integer"),
        ({"patch_size": (2, 3, 4), "units": 7}, "a height and a width"),
        ({"patch_size": 2, "units": 0}, "`units` must be"),
    ],
)
def test_refuses_to_be_made(init, message):
    with pytest.raises(ValueError, match=message):
        PatchEmbedding(**init)


def test_a_side_is_taken_for_both():
    assert as_pair(3, "side") == (3, 3)
    assert as_pair([2, 5], "side") == (2, 5)
