import numpy as np
import pytest
import tensorflow as tf
from PIL import Image
from PIL import ImageEnhance
from PIL import ImageFilter
from PIL import ImageOps

from keras_attn.image import color


@pytest.fixture
def levels(rng):
    """(batch, height, width, channels) of uint8."""
    return rng.integers(0, 256, (2, 7, 9, 3)).astype("uint8")


def as_floats(levels):
    return tf.constant(levels.astype("float32") / 255)


def by_pillow(change, levels):
    return np.stack([change(Image.fromarray(image)) for image in levels])


@pytest.mark.parametrize("factor", [0.0, 0.4, 1.0, 1.7])
@pytest.mark.parametrize(
    ("change", "peer"),
    [
        (color.brightness, ImageEnhance.Brightness),
        (color.contrast, ImageEnhance.Contrast),
        (color.saturation, ImageEnhance.Color),
    ],
)
def test_enhancements_are_those_of_pillow(levels, change, peer, factor):
    expected = by_pillow(lambda image: peer(image).enhance(factor), levels)
    # Pillow rounds the grey that it mixes with, and then the result.
    np.testing.assert_allclose(
        255 * change(as_floats(levels), factor), expected, atol=2.01
    )


@pytest.mark.parametrize("factor", [0.0, 1.7])
def test_sharpness_is_that_of_pillow_inside_the_edges(levels, factor):
    expected = by_pillow(
        lambda image: ImageEnhance.Sharpness(image).enhance(factor), levels
    )
    # Pillow rounds the smoothed image, and then the result.
    actual = 255 * color.sharpness(as_floats(levels), factor).numpy()
    inside = (slice(None), slice(1, -1), slice(1, -1))
    np.testing.assert_allclose(actual[inside], expected[inside], atol=2.01)


@pytest.mark.parametrize(
    "change",
    [
        color.brightness,
        color.contrast,
        color.saturation,
        color.sharpness,
    ],
)
def test_each_image_has_a_factor_of_its_own(levels, change):
    images = as_floats(levels)
    both = change(images, np.array([0.5, 1.5], "float32"))
    np.testing.assert_allclose(both[0], change(images[:1], 0.5)[0], atol=1e-6)
    np.testing.assert_allclose(both[1], change(images[1:], 1.5)[0], atol=1e-6)
    np.testing.assert_allclose(change(images, 1.0), images, atol=1e-6)


def test_solarize_is_that_of_pillow(levels):
    expected = by_pillow(ImageOps.solarize, levels)
    actual = 255 * color.solarize(as_floats(levels), 0.5).numpy()
    np.testing.assert_allclose(actual, expected, atol=1e-3)


@pytest.mark.parametrize("bits", [1, 4, 8])
def test_posterize_is_that_of_pillow(bits):
    levels = np.arange(256, dtype="uint8").reshape(1, 16, 16, 1)
    expected = levels & (256 - 2 ** (8 - bits))
    actual = 255 * color.posterize(as_floats(levels), bits).numpy()
    np.testing.assert_allclose(actual, expected, atol=1e-3)


def test_posterize_starts_from_the_nearest_level():
    images = tf.constant([15.4, 15.6], shape=(1, 1, 2, 1)) / 255
    actual = 255 * color.posterize(images, 4).numpy().ravel()
    np.testing.assert_allclose(actual, [0, 16], atol=1e-3)


def test_grayscale_is_the_luminance_in_every_channel(levels):
    images = as_floats(levels)
    red, green, blue = np.moveaxis(images, -1, 0)
    expected = 0.299 * red + 0.587 * green + 0.114 * blue
    for channel in range(3):
        np.testing.assert_allclose(
            color.grayscale(images)[..., channel], expected, atol=1e-6
        )


def test_images_of_one_channel_have_no_colour_to_lose(levels):
    images = as_floats(levels[..., :1])
    np.testing.assert_array_equal(color.grayscale(images), images)
    np.testing.assert_allclose(color.saturation(images, 0.3), images, atol=1e-6)


def test_blur_is_the_weighted_mean_of_the_equation(rng):
    images = rng.uniform(size=(2, 4, 5, 3)).astype("float32")
    sigmas = np.array([0.7, 1.9], "float32")
    blurred = color.gaussian_blur(images, sigmas).numpy()
    for image, sigma, actual in zip(images, sigmas, blurred, strict=True):
        for row in range(4):
            for column in range(5):
                y = np.exp(-((np.arange(4) - row) ** 2) / (2 * sigma**2))
                x = np.exp(-((np.arange(5) - column) ** 2) / (2 * sigma**2))
                weights = np.outer(y, x)[..., np.newaxis]
                expected = (weights * image).sum((0, 1)) / weights.sum()
                np.testing.assert_allclose(
                    actual[row, column], expected, atol=1e-5
                )


def test_blur_is_near_that_of_pillow():
    levels = np.zeros((1, 21, 21, 3), "uint8")
    levels[:, 8:13, 6:15] = 255
    expected = by_pillow(
        lambda image: image.filter(ImageFilter.GaussianBlur(1.5)), levels
    )
    actual = color.gaussian_blur(as_floats(levels), np.float32([1.5]))
    # Pillow approximates by boxes.
    np.testing.assert_allclose(actual, expected / 255, atol=0.03)


@pytest.mark.parametrize("sigma", [0.1, 2.0, 50.0])
def test_a_white_image_stays_white_up_to_its_edges(sigma):
    white = np.ones((1, 4, 6, 1), "float32")
    blurred = color.gaussian_blur(white, np.float32([sigma]))
    np.testing.assert_allclose(blurred, white, atol=1e-6)
