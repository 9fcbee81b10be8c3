import io
import struct

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_attn.image.bmp import check_plain
from tests.export.image_files import encode


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L"])
def test_what_says_its_pixels_outright_passes(mode):
    file = encode("BMP", mode)
    assert check_plain(file) == file
    levels = tf.io.decode_image(file).numpy()
    image = Image.open(io.BytesIO(file)).convert("RGB")
    # Without transparency; grey is broadcast.
    levels = np.broadcast_to(levels[..., :3], (9, 7, 3))
    np.testing.assert_array_equal(levels, image)


@pytest.mark.parametrize("mode", ["P", "1"])
def test_a_palette_is_told(mode):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Save it as PNG"):
        check_plain(encode("BMP", mode))


@pytest.mark.parametrize("packing", [1, 3])
def test_compression_is_told(packing):
    file = encode("BMP", "L")
    file = file[:30] + struct.pack("<i", packing) + file[34:]
    with pytest.raises(tf.errors.InvalidArgumentError, match="compression"):
        check_plain(file)


def test_a_header_that_is_cut_off_fails():
    file = encode("BMP", "L")
    for length in (2, 17, 29, 33, 100):
        with pytest.raises(tf.errors.InvalidArgumentError):
            check_plain(file[:length])
