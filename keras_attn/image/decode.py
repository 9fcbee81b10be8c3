"""An image as it comes, to numbers of one size."""

import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.image import bmp
from keras_attn.image import color
from keras_attn.image import gif
from keras_attn.image.file_size import MAX_PIXELS
from keras_attn.image.file_size import check_pixels

FITS = ("crop", "squeeze")


def decode_image(
    image,
    size: int | tuple[int, int],
    channels: int = 3,
    *,
    fit: str = "crop",
    max_pixels: int = MAX_PIXELS,
):
    """Make floats of a fixed size from an image of any size.

        pixel = byte / 255

    In core TensorFlow ops, so that training and serving see the same pixels.
    Transparency is dropped, of an animation the first frame is taken, of 16
    bits the upper 8, and images that shrink are smoothed first.

    Args:
        image: A scalar string with the bytes of a JPEG, PNG, GIF or BMP file,
            or (height, width, channels) uint8 of 1, 3 or 4 channels.
        size: Height and width of the result; one number for a square.
        channels: 3 for colour, 1 for grey.
        fit: "crop" keeps the proportions and cuts off the two sides that are
            too long, "squeeze" keeps the whole image and not its proportions.
        max_pixels: A file that says it has more is refused unread.

    Returns:
        (height, width, channels) float32 between 0 and 1.

    Raises:
        ValueError: If the arguments or the kind of tensor are wrong.
        tf.errors.InvalidArgumentError: When it runs on bytes that are no whole
            image, or a too large one; the message says what is wrong.
    """
    size = check_image(size, channels, fit)
    image = _as_levels(tf.convert_to_tensor(image), max_pixels)
    if fit == "crop":
        image = _centre(image, size)
    image = _with_channels(tf.cast(image, tf.float32) / 255, channels)
    # Antialiasing has no effect on images that grow.
    image = tf.image.resize(image, size, antialias=True)
    return tf.clip_by_value(tf.ensure_shape(image, (*size, channels)), 0, 1)


def read_levels(image, channels: int = 3, *, max_pixels: int = MAX_PIXELS):
    """Read an image in its own size, as whole numbers from 0 to 255.

    Args:
        image, channels, max_pixels: As for `decode_image`.

    Returns:
        (height, width, channels) float32.
    """
    argument_checks.choice(channels, "channels", (1, 3))
    image = _as_levels(tf.convert_to_tensor(image), max_pixels)
    levels = _with_channels(tf.cast(image, tf.float32), channels)
    # Grey that was weighed of colours falls between two levels.
    return tf.floor(levels + 0.5)


def check_image(
    size: int | tuple[int, int], channels: int, fit: str
) -> tuple[int, int]:
    """Refuse what is no form of an image; return height and width."""
    argument_checks.choice(channels, "channels", (1, 3))
    argument_checks.choice(fit, "fit", FITS)
    return _as_pair(size)


def _as_pair(size):
    pair = (size, size) if argument_checks.is_integer(size) else tuple(size)
    if len(pair) != 2 or min(pair) < 1:
        raise ValueError(
            "`size` is a number of pixels or (height, width), each 1 or more. "
            f"Received: {size}"
        )
    return pair


def _as_levels(image, max_pixels):
    """(height, width, channels) of uint8, with 1 to 4 channels."""
    if image.dtype == tf.string and image.shape.rank in (0, None):
        image = tf.case(
            [
                (_starts(image, gif.MAGIC), lambda: gif.first_frame(image)),
                (_starts(image, bmp.MAGIC), lambda: bmp.check_plain(image)),
            ],
            default=lambda: tf.identity(image),
        )
        # As many channels as the file has: the decoders of GIF and BMP do not
        # convert.
        return tf.io.decode_image(
            check_pixels(image, max_pixels), expand_animations=False
        )
    if image.dtype != tf.uint8 or image.shape.rank != 3:
        raise ValueError(
            "An image is a scalar string with the bytes of a file, or uint8 "
            "(height, width, channels) from 0 to 255. Received: "
            f"{image.dtype.name} of shape {image.shape}."
        )
    if image.shape[-1] not in (1, 3, 4, None):
        raise ValueError(
            "An image has 1, 3 or 4 channels, as its last axis. "
            f"Received: {tuple(image.shape)}"
        )
    return image


def _starts(file, magic):
    return tf.strings.substr(file, 0, len(magic)) == magic


def _centre(image, size):
    """The largest part in the middle with the proportions of `size`."""
    height, width = tf.unstack(tf.shape(image)[:2])
    ratio = size[1] / size[0]
    side = tf.cast(height, tf.float32), tf.cast(width, tf.float32)
    wanted_height = tf.cast(tf.round(side[1] / ratio), tf.int32)
    wanted_width = tf.cast(tf.round(side[0] * ratio), tf.int32)
    new_height = tf.clip_by_value(wanted_height, 1, height)
    new_width = tf.clip_by_value(wanted_width, 1, width)
    top, left = (height - new_height) // 2, (width - new_width) // 2
    return image[top : top + new_height, left : left + new_width]


def _with_channels(image, channels):
    # 1 is grey, 2 is grey with transparency, 4 is colour with transparency.
    is_grey = tf.shape(image)[-1] < 3
    image = image[..., : tf.where(is_grey, 1, 3)]
    shape = tf.concat([tf.shape(image)[:2], [3]], axis=0)
    image = tf.ensure_shape(tf.broadcast_to(image, shape), (None, None, 3))
    if channels == 3:
        return image
    # Grey is not weighed again, which would round it.
    return tf.where(is_grey, image[..., :1], color.luminance(image))
