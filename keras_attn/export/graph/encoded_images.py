"""Bytes of image files to the images that a model takes."""

from collections.abc import Sequence

import tensorflow as tf

FITS = ("crop", "squeeze")

# As many as a good camera takes; in colour and float32 they are 400 MB.
MAX_PIXELS = 2**25

# Images decoded at once: each may take the memory of `MAX_PIXELS`.
_AT_ONCE = 4

# ITU-R 601: how bright red, green and blue look.
_LUMINANCE = (0.299, 0.587, 0.114)


class EncodedImages(tf.Module):
    """Image files to pixels, as the training pipeline makes them.

        pixel = lowest + (highest - lowest) level / 255

    Transparency is dropped, the first frame of an animation is taken, images
    that shrink are smoothed first. A file that cannot be read, or is larger
    than it should be, is flagged and fails no other.

    Args:
        size: Height and width of the images.
        channels: 3 for colour, 1 for grey.
        fit: "crop" keeps the proportions and cuts off the two sides that are
            too long, "squeeze" keeps the whole image and not its proportions.
        pixels: The lowest and the highest value of a pixel.
        max_pixels: A file that says it has more is not read, so that a small
            file cannot fill the memory.

    Call arguments:
        image_bytes: (batch,) strings: JPEG, PNG, GIF or BMP files.

    Returns:
        `{"images"}`, (batch, height, width, channels) float32, and `{"valid"}`,
        (batch,) booleans; images that are not valid are 0.
    """

    def __init__(
        self,
        size: tuple[int, int],
        channels: int,
        *,
        fit: str = "crop",
        pixels: Sequence[float] = (0.0, 1.0),
        max_pixels: int = MAX_PIXELS,
    ):
        super().__init__()
        if channels not in (1, 3):
            raise ValueError(f"`channels` is 1 or 3. Received: {channels}")
        if fit not in FITS:
            raise ValueError(f"`fit` is one of {FITS}. Received: {fit!r}")
        lowest, highest = pixels
        if not lowest < highest:
            raise ValueError(
                "`pixels` are the lowest and the highest value of a pixel, "
                f"such as (0, 1) or (0, 255). Received: {pixels}"
            )
        self._shape = (*size, channels)
        self._fit = fit
        self._pixels = lowest, highest
        self._max_pixels = max_pixels

    def __call__(self, image_bytes):
        rows = tf.size(image_bytes, tf.int64)
        files = tf.data.Dataset.from_tensor_slices(
            (tf.range(rows), image_bytes)
        )
        # The one thing in a graph that goes on after an op has failed.
        decoded = files.map(self._decode, _AT_ONCE).ignore_errors()
        nothing = tf.zeros([0], tf.int64), tf.zeros([0, *self._shape])
        places, images = (
            decoded.batch(tf.maximum(rows, 1))
            .concatenate(tf.data.Dataset.from_tensors(nothing))
            .take(1)
            .get_single_element()
        )
        places = places[:, tf.newaxis]
        ones = tf.ones_like(places[:, 0], tf.int32)
        return {
            "images": tf.scatter_nd(
                places, images, tf.stack([rows, *self._shape])
            ),
            "valid": tf.scatter_nd(places, ones, [rows]) > 0,
        }

    def _decode(self, place, file):
        num_pixels = _num_pixels(file)
        enough = tf.debugging.Assert(
            (num_pixels > 0) & (num_pixels <= self._max_pixels), [num_pixels]
        )
        with tf.control_dependencies([enough]):
            file = tf.identity(file)
        # As many channels as the file has: the decoders of GIF and BMP do not
        # convert.
        image = tf.io.decode_image(file, expand_animations=False)
        height, width, channels = self._shape
        if self._fit == "crop":
            image = _centre(image, width / height)
        image = _with_channels(tf.cast(image, tf.float32) / 255, channels)
        # Antialiasing has no effect on images that grow.
        image = tf.image.resize(image, (height, width), antialias=True)
        image = tf.clip_by_value(tf.ensure_shape(image, self._shape), 0, 1)
        lowest, highest = self._pixels
        return place, lowest + (highest - lowest) * image


def _num_pixels(file):
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
            (starts(b"\x89PNG"), sides(16, tf.int32, False)),
            (starts(b"GIF8"), sides(6, tf.uint16, True)),
            (starts(b"BM"), sides(18, tf.int32, True)),
        ],
        default=lambda: tf.constant(0, tf.int64),
    )


def _centre(image, ratio):
    """The largest part in the middle that is `ratio` times as wide as high."""
    height, width = tf.unstack(tf.shape(image)[:2])
    wanted_height = tf.round(tf.cast(width, tf.float32) / ratio)
    wanted_width = tf.round(tf.cast(height, tf.float32) * ratio)
    new_height = tf.clip_by_value(tf.cast(wanted_height, tf.int32), 1, height)
    new_width = tf.clip_by_value(tf.cast(wanted_width, tf.int32), 1, width)
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
    luminance = tf.reduce_sum(image * _LUMINANCE, axis=-1, keepdims=True)
    # Grey is not weighed again, which would round it.
    return tf.where(is_grey, image[..., :1], luminance)
