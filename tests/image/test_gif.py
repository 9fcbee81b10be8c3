import io

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_attn.image.gif import first_frame
from tests.export.image_files import encode
from tests.export.image_files import gif

LEVELS = np.arange(99, dtype="uint8").reshape(9, 11)
# A comment in two blocks, as there may be many before a frame.
COMMENT = b"!\xfe\x03abc\x02,;\x00"


def pixels(file):
    """Its frames by TensorFlow: (frames, height, width), all channels alike."""
    frames = tf.io.decode_gif(file).numpy()
    np.testing.assert_array_equal(frames[..., 0], frames[..., 2])
    return frames[..., 0]


@pytest.mark.parametrize("extension", [b"", COMMENT, 3 * COMMENT])
def test_the_first_frame_alone_is_kept(extension):
    larger = np.full((30, 40), 7, "uint8")
    file = gif((0, 0, LEVELS), (0, 0, larger), extension=extension)
    # TensorFlow draws it in a screen as large as the second.
    assert pixels(file).shape == (2, 30, 40)
    np.testing.assert_array_equal(pixels(first_frame(file)), [LEVELS])


def test_a_frame_beside_the_corner_is_moved_there():
    file = gif((50, 60, LEVELS))
    assert not pixels(file).any()  # TensorFlow draws it outside
    np.testing.assert_array_equal(pixels(first_frame(file)), [LEVELS])


def test_the_screen_is_as_large_as_the_frame():
    kept = first_frame(gif((0, 0, LEVELS), size=(60_000, 1))).numpy()
    assert kept[6:10] == b"\x0b\x00\x09\x00"  # 11 by 9


@pytest.mark.parametrize("mode", ["P", "L", "1"])
def test_files_of_others_are_kept_as_they_are(mode):
    file = encode("GIF", mode, size=(70, 50))
    image = Image.open(io.BytesIO(file)).convert("RGB")
    (frame,) = tf.io.decode_gif(first_frame(file))
    np.testing.assert_array_equal(frame, image)


def test_a_table_of_the_frame_s_own_is_kept():
    red, blue = Image.new("RGB", (4, 3), "red"), Image.new("RGB", (4, 3))
    animation = io.BytesIO()
    red.save(animation, "GIF", save_all=True, append_images=[blue])
    file = animation.getvalue()
    start = file.index(b",\0\0\0\0\4\0\3\0")  # the first frame, 4 by 3
    size = 3 * 2 ** ((file[10] & 7) + 1)
    shades = file[13 : 13 + size]
    own = (
        file[:10]
        + bytes([file[10] & 0x7F])  # no table for all
        + file[11:13]
        + file[13 + size : start + 9]
        + bytes([0x80 | (file[10] & 7)])
        + shades
        + file[start + 10 :]
    )
    (frame,) = tf.io.decode_gif(first_frame(own))
    np.testing.assert_array_equal(frame, np.asarray(red))


def test_what_comes_after_the_first_frame_may_be_missing():
    first, both = (
        gif(*[(0, 0, LEVELS)] * count, extension=COMMENT) for count in (1, 2)
    )
    for length in range(len(first) - 1, len(both), 7):
        kept = first_frame(both[:length])
        np.testing.assert_array_equal(pixels(kept), [LEVELS])


def test_a_first_frame_that_is_cut_off_fails():
    file = gif((0, 0, LEVELS), extension=COMMENT)
    for length in range(6, len(file) - 1, 7):
        with pytest.raises(tf.errors.InvalidArgumentError):
            first_frame(file[:length])


def test_a_gif_without_a_frame_fails():
    with pytest.raises(tf.errors.InvalidArgumentError, match="no frame"):
        first_frame(gif())
