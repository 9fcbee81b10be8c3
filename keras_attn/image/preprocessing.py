"""What a published model wants done to an image file."""

import dataclasses
import pathlib
from collections.abc import Sequence

import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.image import preprocessor_config
from keras_attn.image.decode import read_levels
from keras_attn.image.file_size import MAX_PIXELS
from keras_attn.image.resample import METHODS
from keras_attn.image.resample import resample


@dataclasses.dataclass(frozen=True)
class Preprocessing:
    """An image file to the numbers that a model was trained on.

        pixel = (scale · level - mean) / std

    where levels, 0 to 255, are those of the file, resized and cut out of the
    middle as Pillow does it.

    Args:
        resize: Height and width that an image is resized to; or the length of
            its shorter side, where the proportions stay.
        crop: Height and width of the part in the middle; None for all of it.
        method: "bilinear", "bicubic" or "lanczos3".
        scale: What levels are multiplied by.
        mean, std: One number, or one for each channel.

    Call arguments:
        image: A file or an array, as for `decode_image`.
        channels: 3 for colour, 1 for grey.
        max_pixels: A file that says it has more is refused unread.

    Returns:
        (height, width, channels) float32.
    """

    resize: int | tuple[int, int]
    crop: tuple[int, int] | None = None
    method: str = "bilinear"
    scale: float = 1 / 255
    mean: Sequence[float] = (0.0,)
    std: Sequence[float] = (1.0,)

    def __post_init__(self):
        argument_checks.choice(self.method, "method", METHODS)
        whole = self.resize
        if isinstance(whole, int):
            if self.crop is None:
                raise ValueError(
                    "Images whose shorter side is given, resize="
                    f"{whole}, differ in the other. Give `crop` as well."
                )
            whole = (whole, whole)
        if self.crop and any(
            part > side for part, side in zip(self.crop, whole, strict=True)
        ):
            raise ValueError(
                "`crop` is a part of what `resize` makes. Received: resize="
                f"{self.resize}, crop={self.crop}"
            )

    @classmethod
    def from_huggingface(cls, folder: str | pathlib.Path) -> "Preprocessing":
        """Read the `preprocessor_config.json` of a ViT's or a DeiT's folder.

        Args:
            folder: Written by `save_pretrained` of an image processor.
        """
        return cls(**preprocessor_config.read(pathlib.Path(folder)))

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of what it gives."""
        return tuple(self.crop or self.resize)

    def __call__(
        self, image, channels: int = 3, *, max_pixels: int = MAX_PIXELS
    ):
        for name in ("mean", "std"):
            if len(getattr(self, name)) not in (1, channels):
                raise ValueError(
                    f"`{name}` has {len(getattr(self, name))} numbers, and "
                    f"images have {channels} channels. Give one for each."
                )
        levels = read_levels(image, channels, max_pixels=max_pixels)
        levels = resample(levels, self._resized(levels), self.method)
        if self.crop is not None:
            height, width = tf.unstack(tf.shape(levels)[:2])
            top = (height - self.crop[0]) // 2
            left = (width - self.crop[1]) // 2
            levels = levels[top : top + self.crop[0], left:][:, : self.crop[1]]
        levels = tf.ensure_shape(levels, (*self.size, channels))
        mean, std = (tf.constant(x, tf.float32) for x in (self.mean, self.std))
        return (self.scale * levels - mean) / std

    def _resized(self, levels):
        """Height and width before the part in the middle is cut out."""
        if not isinstance(self.resize, int):
            return self.resize
        sides = tf.cast(tf.shape(levels)[:2], tf.int64)
        return tf.unstack(
            tf.cast(self.resize * sides // tf.reduce_min(sides), tf.int32)
        )
