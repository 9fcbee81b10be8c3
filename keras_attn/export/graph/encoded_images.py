"""Bytes of image files to the images that a model takes."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_attn.image.decode import check_image
from keras_attn.image.decode import decode_image
from keras_attn.image.file_size import MAX_PIXELS
from keras_attn.image.preprocessing import Preprocessing
from keras_attn.image.value_range import check_value_range
from keras_attn.image.value_range import to_value_range

# Images decoded at once: each may take the memory of `MAX_PIXELS`.
_AT_ONCE = 4


class EncodedImages(tf.Module):
    """Image files to pixels, as the training pipeline makes them.

        pixel = lowest + (highest - lowest) level / 255

    What `decode_image` refuses, because it is no whole image or a too large
    one, is flagged and fails no other.

    Args:
        size: Height and width of the images.
        channels: 3 for colour, 1 for grey.
        fit: "crop" keeps the proportions and cuts off the two sides that are
            too long, "squeeze" keeps the whole image and not its proportions.
        value_range: The lowest and the highest value of a pixel.
        preprocessing: What is done to an image, in place of `fit` and
            `value_range`.
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
        value_range: Sequence[float] = (0.0, 1.0),
        preprocessing: Preprocessing | None = None,
        max_pixels: int = MAX_PIXELS,
    ):
        super().__init__()
        check_image(size, channels, fit)
        check_value_range(value_range)
        self._shape = (*size, channels)
        self._fit = fit
        self._value_range = value_range
        self._preprocessing = preprocessing
        if preprocessing is not None:
            _check_preprocessing(preprocessing, size, fit, value_range)
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

    def example_files(self) -> tuple[list[bytes], list[bytes]]:
        """An image of this size and a larger one; and a broken file."""
        height, width, _ = self._shape
        small, large = (
            tf.constant(_rainbow(height * n, width * n)) for n in (1, 2)
        )
        png = tf.io.encode_png(small).numpy()
        jpeg = tf.io.encode_jpeg(large).numpy()
        return [png, jpeg], [png[: len(png) // 2]]

    def _decode(self, place, file):
        *size, channels = self._shape
        if self._preprocessing is not None:
            return place, self._preprocessing(
                file, channels, max_pixels=self._max_pixels
            )
        image = decode_image(
            file, size, channels, fit=self._fit, max_pixels=self._max_pixels
        )
        return place, to_value_range(image, self._value_range)


def _check_preprocessing(preprocessing, size, fit, value_range):
    if preprocessing.size != tuple(size):
        raise ValueError(
            f"`preprocessing` makes images of {preprocessing.size}, and the "
            f"model takes {tuple(size)}. Make the model for that size, "
            "or resize and crop to its own."
        )
    if fit != "crop" or tuple(value_range) != (0.0, 1.0):
        raise ValueError(
            "`preprocessing` says how images fit and what their pixels are: "
            "leave `fit` and `value_range` out. Received: "
            f"fit={fit!r}, value_range={value_range}"
        )


def _rainbow(height, width):
    """An image whose every part is different: (height, width, 3) uint8."""
    rows, columns = np.mgrid[:height, :width] * 255 // max(height, width)
    return np.stack([rows, columns, 255 - rows], axis=-1).astype("uint8")
