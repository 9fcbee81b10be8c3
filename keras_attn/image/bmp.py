"""BMP files that say their pixels outright, which alone are read."""

import tensorflow as tf

MAGIC = b"BM"
NO_COMPRESSION, BIT_FIELDS = 0, 3


def check_plain(file):
    """Fail on a BMP whose pixels are packed, or places in a palette.

    TensorFlow would take either for shades.

    Args:
        file: A scalar string, the bytes of a BMP.

    Returns:
        The file.
    """

    def number(position, dtype):
        field = tf.strings.substr(file, position, dtype.size)
        return tf.io.decode_raw(field, dtype)[0]

    def has_grey_palette():
        start, end = 14 + number(14, tf.int32), number(10, tf.int32)
        palette = tf.io.decode_raw(
            tf.strings.substr(file, start, end - start), tf.uint8
        )
        palette = tf.reshape(palette, [-1, 4])[:, :3]  # blue, green, red
        shades = tf.range(tf.shape(palette)[0])[:, tf.newaxis]
        return tf.reduce_all(tf.cast(palette, tf.int32) == shades)

    bits, packing = number(28, tf.int16), number(30, tf.int32)
    outright = tf.cond(
        tf.equal(bits, 8), has_grey_palette, lambda: tf.greater_equal(bits, 24)
    )
    unpacked = tf.equal(packing, NO_COMPRESSION) | (
        tf.equal(packing, BIT_FIELDS) & tf.equal(bits, 32)
    )
    is_plain = tf.debugging.Assert(
        outright & unpacked,
        [
            "A BMP must have 24 or 32 bits for each pixel, or 8 of grey, and "
            "no compression. Save it as PNG. Received: bits",
            bits,
            "compression",
            packing,
        ],
    )
    with tf.control_dependencies([is_plain]):
        return tf.identity(file)
