"""How many pixels an image file says it has, before any is made."""

import tensorflow as tf

from keras_attn.image import bmp
from keras_attn.image import gif

# As many as a good camera takes; in colour and float32 they are 400 MB.
MAX_PIXELS = 2**25

# The signature, then the chunk with the sizes, which comes first.
PNG_HEADER = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


def check_pixels(file, max_pixels: int):
    """Fail on files that are no images, or too large ones, unread.

    Args:
        file: A scalar string, the bytes of a file.
        max_pixels: The most pixels, so that a small file, or one of 20,000 by
            20,000 pixels, cannot fill the memory.

    Returns:
        The file.
    """
    pixels = num_pixels(file)
    known = tf.debugging.Assert(
        pixels > 0,
        ["An image file must be a JPEG, PNG, GIF or BMP, with pixels."],
    )
    with tf.control_dependencies([known]):
        enough = tf.debugging.Assert(
            pixels <= max_pixels,
            [
                "An image file has more pixels than `max_pixels`. Make it "
                "smaller, or raise `max_pixels`. Received:",
                pixels,
                f"pixels, max_pixels={max_pixels}",
            ],
        )
    with tf.control_dependencies([enough]):
        return tf.identity(file)


def num_pixels(file):
    """How many pixels a file says it has; 0 for unknown kinds of files."""

    def starts(magic):
        return tf.strings.substr(file, 0, len(magic)) == magic

    def jpeg():
        shape = tf.io.extract_jpeg_shape(file)
        return tf.cast(shape[0], tf.int64) * tf.cast(shape[1], tf.int64)

    def sides(position, dtype, little_endian):
        def product():
            field = tf.strings.substr(file, position, 2 * dtype.size)
            values = tf.io.decode_raw(field, dtype, little_endian)
            # A BMP from top to bottom has a negative height.
            return tf.reduce_prod(tf.abs(tf.cast(values, tf.int64)))

        return product

    return tf.case(
        [
            (starts(b"\xff\xd8\xff"), jpeg),
            (starts(PNG_HEADER), sides(16, tf.int32, False)),
            (starts(gif.MAGIC), sides(6, tf.uint16, True)),
            (starts(bmp.MAGIC), sides(18, tf.int32, True)),
        ],
        default=lambda: tf.constant(0, tf.int64),
    )
