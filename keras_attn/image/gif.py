"""The first frame of a GIF, which alone is looked at."""

import tensorflow as tf

MAGIC = b"GIF8"
HEADER = 13  # bytes: signature, then the screen with its width from byte 6
EXTENSION, FRAME, END = 0x21, 0x2C, b";"
DESCRIPTION = 10  # bytes: FRAME, left, top, width and height, and what follows


def first_frame(file):
    """Make of an animation a GIF of its first frame alone.

    TensorFlow decodes all frames, however many and however large, before it
    takes the first, and draws it in a screen as large as the largest of them.

    Args:
        file: A scalar string, the bytes of a GIF.

    Returns:
        A scalar string: a GIF as large as its frame, the frame in its corner.
        A file that ends before its first frame does fails when it runs.
    """
    content = tf.io.decode_raw(file, tf.uint8)

    def byte(position):
        return tf.cast(content[position], tf.int32)

    def table(position):
        """Bytes of a table of colours, if the flags there tell of one."""
        flags = byte(position)
        size = 3 * tf.bitwise.left_shift(2, tf.bitwise.bitwise_and(flags, 7))
        return tf.where(flags < 128, 0, size)

    def after_blocks(position):
        """Past blocks that start with their length, the last being empty."""

        def skip(at, length):
            at += length + 1
            return at, byte(at)

        last, _ = tf.while_loop(
            lambda at, length: length > 0, skip, (position, byte(position))
        )
        return last + 1

    (frame,) = tf.while_loop(
        lambda at: tf.equal(byte(at), EXTENSION),
        lambda at: (after_blocks(at + 2),),
        (HEADER + table(10),),
    )
    is_frame = tf.debugging.Assert(
        tf.equal(byte(frame), FRAME), ["Invalid GIF: there is no frame."]
    )
    with tf.control_dependencies([is_frame]):
        size = tf.strings.substr(file, frame + 5, 4)
    # One byte more tells how its pixels are packed.
    end = after_blocks(frame + DESCRIPTION + table(frame + 9) + 1)
    corner = bytes([FRAME, 0, 0, 0, 0])
    return tf.strings.join(
        [
            tf.strings.substr(file, 0, 6),
            size,
            tf.strings.substr(file, 10, frame - 10),
            corner,
            tf.strings.substr(file, frame + 5, end - frame - 5),
            END,
        ]
    )
