import numpy as np
import pytest

from keras_attn.embeddings.shifted_patch import ShiftedPatchTokenization
from keras_attn.embeddings.shifted_patch import with_shifts
from tests.contract import check_layer
from tests.embeddings.test_patch import patches_of


@pytest.fixture
def images(rng):
    return rng.normal(size=(2, 4, 12, 3)).astype("float32")


def shifted(images, down, right):
    """Every pixel moved, one by one; 0 where none came from."""
    _, height, width, _ = images.shape
    moved = np.zeros(images.shape)
    for y in range(height):
        for x in range(width):
            if 0 <= y - down < height and 0 <= x - right < width:
                moved[:, y, x] = images[:, y - down, x - right]
    return moved


def tokens_of(layer, images, half_height, half_width):
    """Section 3.2 of the paper in float64."""
    moves = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    beside = [images] + [
        shifted(images, down * half_height, right * half_width)
        for down, right in moves
    ]
    x = patches_of(np.concatenate(beside, axis=-1), *layer.patch_size)
    gamma, beta = layer.normalize.get_weights()
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    x = (x - mean) / np.sqrt(variance + layer.epsilon) * gamma + beta
    kernel, bias = layer.projection.get_weights()
    return x @ np.float64(kernel) + bias


def test_contract(images, tmp_path):
    check_layer(
        ShiftedPatchTokenization,
        {"patch_size": (2, 4), "units": 5, "epsilon": 0.01},
        {"images": images},
        output_shape=(2, 6, 5),
        tmp_path=tmp_path,
        padded=(),  # images have none
        shortest=2,
    )


@pytest.mark.parametrize("patch_size", [(2, 4), (4, 3)])
def test_matches_the_equation(patch_size, images, rng):
    layer = ShiftedPatchTokenization(patch_size, 5)
    layer.build(images.shape)
    layer.set_weights([rng.normal(size=w.shape) for w in layer.weights])
    half_height, half_width = (side // 2 for side in patch_size)
    expected = tokens_of(layer, images, half_height, half_width)
    np.testing.assert_allclose(layer(images), expected, rtol=1e-4, atol=1e-4)


def test_shifts_go_along_the_diagonals_and_bring_in_zeros():
    one = np.arange(1, 10, dtype="float32").reshape(1, 3, 3, 1)
    _, down_right, down_left, up_right, up_left = np.moveaxis(
        np.array(with_shifts(one, (2, 2)))[0], -1, 0
    )
    np.testing.assert_array_equal(down_right, [[0, 0, 0], [0, 1, 2], [0, 4, 5]])
    np.testing.assert_array_equal(down_left, [[0, 0, 0], [2, 3, 0], [5, 6, 0]])
    np.testing.assert_array_equal(up_right, [[0, 4, 5], [0, 7, 8], [0, 0, 0]])
    np.testing.assert_array_equal(up_left, [[5, 6, 0], [8, 9, 0], [0, 0, 0]])


@pytest.mark.parametrize("patch_size", [1, (2, 1)])
def test_a_patch_that_has_no_half_is_refused(patch_size):
    with pytest.raises(ValueError, match=r"at least 2.*PatchEmbedding\(1"):
        ShiftedPatchTokenization(patch_size, 5)


def test_images_that_patches_do_not_divide_are_refused(images):
    layer = ShiftedPatchTokenization((2, 5), 5)
    with pytest.raises(ValueError, match="must divide both sides"):
        layer(images)
