import io

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_attn.image.decode import decode_image
from tests.export.image_files import BAD
from tests.export.image_files import GOOD
from tests.export.image_files import gif
from tests.export.image_files import of_size


def picture(height, width, channels):
    """Colours that change little from pixel to pixel, which JPEG keeps."""
    y, x = np.mgrid[:height, :width] / max(height, width)
    planes = [40 + 60 * x + 90 * y, 200 - 80 * x, 20 + 120 * y, 250 - 90 * y]
    return np.stack(planes[:channels], axis=-1).astype("uint8")


def written(path, array, **options):
    image = Image.fromarray(array[..., 0] if array.shape[-1] == 1 else array)
    image.save(path, **options)
    return tf.io.read_file(str(path))


def as_numpy(*arguments, **options):
    return decode_image(*arguments, **options).numpy()


@pytest.mark.parametrize(
    ("name", "tolerance"),
    [("a.png", 0), ("a.bmp", 0), ("a.jpg", 8), ("a.gif", 0)],
)
def test_every_kind_of_file_gives_its_pixels(tmp_path, name, tolerance):
    pixels = picture(6, 6, 3)
    options = {"subsampling": 0, "quality": 95} if "jpg" in name else {}
    image = as_numpy(written(tmp_path / name, pixels, **options), 6)
    assert image.dtype == "float32"
    np.testing.assert_allclose(255 * image, pixels, atol=tolerance + 1e-3)


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.gif"])
def test_a_grey_file_is_grey_in_all_channels(tmp_path, name):
    pixels = picture(6, 6, 1)
    content = written(tmp_path / name, pixels)
    colour, grey = as_numpy(content, 6, 3), as_numpy(content, 6, 1)
    assert colour.shape == (6, 6, 3)
    assert grey.shape == (6, 6, 1)
    np.testing.assert_allclose(colour, np.repeat(grey, 3, axis=-1), atol=1e-6)
    np.testing.assert_allclose(255 * grey, pixels, atol=4)


def test_colour_becomes_grey_by_its_luminance():
    pixels = picture(5, 5, 3)
    expected = pixels @ np.array([0.299, 0.587, 0.114]) / 255
    np.testing.assert_allclose(
        as_numpy(pixels, 5, 1)[..., 0], expected, atol=1e-6
    )


def test_grey_stays_as_it_is_to_the_last_bit():
    pixels = np.arange(256, dtype="uint8").reshape(16, 16, 1)
    expected = pixels.astype("float32") / np.float32(255)
    np.testing.assert_array_equal(as_numpy(pixels, 16, 1), expected)


@pytest.mark.parametrize("channels", [2, 4])
def test_transparency_is_dropped(tmp_path, channels):
    pixels = picture(6, 6, channels)
    mode = {2: "LA", 4: "RGBA"}[channels]
    Image.fromarray(pixels, mode).save(tmp_path / "a.png")
    content = tf.io.read_file(str(tmp_path / "a.png"))
    kept = {2: pixels[..., [0, 0, 0]], 4: pixels[..., :3]}[channels]
    np.testing.assert_allclose(255 * as_numpy(content, 6), kept, atol=1e-3)


def test_the_first_frame_of_an_animation_is_taken(tmp_path):
    first, second = np.full((4, 4), 10, "uint8"), np.full((4, 4), 200, "uint8")
    Image.fromarray(first).save(
        tmp_path / "a.gif",
        save_all=True,
        append_images=[Image.fromarray(second)],
    )
    image = as_numpy(tf.io.read_file(str(tmp_path / "a.gif")), 4)
    np.testing.assert_allclose(image, 10 / 255, atol=1e-6)


def test_what_follows_in_an_animation_changes_nothing():
    first = np.arange(36, dtype="uint8").reshape(6, 6)
    larger = np.full((20, 30), 99, "uint8")
    for frames in ([], [(0, 0, larger)], [(3, 3, first)] * 3):
        image = as_numpy(gif((2, 1, first), *frames), 6, 1)
        np.testing.assert_allclose(255 * image[..., 0], first, atol=1e-3)


def test_of_16_bits_the_upper_8_are_taken():
    levels = np.random.default_rng(0).integers(2**16, size=(6, 6, 3))
    file = tf.io.encode_png(levels.astype("uint16"))
    np.testing.assert_allclose(
        255 * as_numpy(file, 6), levels // 256, atol=1e-3
    )


@pytest.mark.parametrize(
    ("kind", "mode", "tolerance"),
    [("PNG", "P", 0), ("PNG", "1", 0), ("JPEG", "CMYK", 3)],
)
def test_other_ways_to_write_colours_are_read(kind, mode, tolerance):
    image = Image.fromarray(picture(16, 16, 3)).convert(mode)
    content = io.BytesIO()
    image.save(content, kind)
    wanted = np.asarray(Image.open(content).convert("RGB"))
    image = as_numpy(content.getvalue(), 16)
    np.testing.assert_allclose(255 * image, wanted, atol=tolerance + 1e-3)


def test_a_wide_image_loses_its_two_ends():
    pixels = np.zeros((4, 10, 3), "uint8")
    pixels[:, 3:7] = 255
    assert as_numpy(pixels, 4).min() == 1
    squeezed = as_numpy(pixels, 4, fit="squeeze")
    np.testing.assert_allclose(squeezed[:, [0, -1]], 0, atol=0.05)


def test_a_high_image_loses_its_top_and_bottom():
    pixels = np.zeros((9, 6, 1), "uint8")
    pixels[3:6] = 255
    image = as_numpy(pixels, (2, 4), 1)
    assert image.shape == (2, 4, 1)
    assert image.min() == 1


@pytest.mark.parametrize("shape", [(1, 90, 3), (90, 1, 3), (1, 1, 3)])
def test_the_thinnest_image_has_a_middle(shape):
    image = as_numpy(np.full(shape, 255, "uint8"), (5, 4))
    np.testing.assert_array_equal(image, np.ones((5, 4, 3)))


def test_small_images_grow():
    pixels = np.zeros((8, 8, 1), "uint8")
    pixels[:, 4:] = 255
    image = as_numpy(pixels, 32)
    assert image.shape == (32, 32, 3)
    assert image[:, :14].max() == 0
    assert image[:, 18:].min() == 1
    np.testing.assert_allclose(np.diff(image[0, 14:18, 0]), 0.25, atol=1e-6)


def test_large_images_are_smoothed_before_they_shrink():
    stripes = np.zeros((64, 64, 1), "uint8")
    stripes[:, ::8] = 255
    image = as_numpy(stripes, 8, 1)
    np.testing.assert_allclose(image[1:-1, 1:-1], 1 / 8, atol=1e-3)


@pytest.mark.parametrize("spec", [((), tf.string), ((None, None, 4), tf.uint8)])
def test_the_size_is_known_before_it_runs(spec):
    traced = tf.function(
        lambda image: decode_image(image, (5, 7), 1)
    ).get_concrete_function(tf.TensorSpec(*spec))
    assert traced.output_shapes == (5, 7, 1)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"not an image", "must be a JPEG, PNG, GIF or BMP"),
        (b"", "must be a JPEG, PNG, GIF or BMP"),
        (b"\xff\xd8\xff\xe0 and nothing more", "Invalid JPEG data"),
        (b"\x89PNG\r\n\x1a\n and nothing more", "must be a JPEG, PNG"),
        (BAD["half_a_jpeg"], "Invalid JPEG data"),
        (BAD["almost_a_jpeg"], "Invalid JPEG data"),
        (BAD["half_a_png"], "Invalid PNG"),
        (BAD["half_a_bmp"], "size should match"),
        (BAD["another_kind"], "must be a JPEG, PNG, GIF or BMP"),
    ],
)
def test_broken_bytes_are_told(content, complaint):
    with pytest.raises(tf.errors.InvalidArgumentError, match=complaint):
        decode_image(tf.constant(content), 4)


@pytest.mark.parametrize("kind", ["jpeg", "png", "gif", "bmp"])
def test_a_file_of_20_000_by_20_000_pixels_is_refused_unread(kind, monkeypatch):
    decoded = []
    monkeypatch.setattr(tf.io, "decode_image", decoded.append)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"more pixels(?s:.)*400000000"
    ):
        decode_image(tf.constant(of_size(kind, 20_000)), 4)
    assert not decoded


def test_larger_files_are_read_if_one_says_so():
    assert as_numpy(GOOD["png"], 4, max_pixels=63).shape == (4, 4, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="max_pixels=62"):
        decode_image(GOOD["png"], 4, max_pixels=62)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"size": 0}, "`size`"),
        ({"size": (3, 4, 5)}, "`size`"),
        ({"channels": 2}, "`channels`"),
        ({"fit": "stretch"}, "`fit`"),
        ({"image": np.zeros((4, 4, 3), "float32")}, "float32"),
        ({"image": np.zeros((4, 4), "uint8")}, "height, width, channels"),
        ({"image": np.zeros((3, 4, 5), "uint8")}, "last axis"),
        ({"image": tf.constant(["a", "b"])}, "scalar string"),
    ],
)
def test_wrong_arguments_are_told(options, complaint):
    arguments = {"image": np.zeros((4, 4, 3), "uint8"), "size": 4, **options}
    with pytest.raises(ValueError, match=complaint):
        decode_image(**arguments)
