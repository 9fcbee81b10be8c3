"""Patches of an image as vectors."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer


@keras.saving.register_keras_serializable(package="keras_attn")
class PatchEmbedding(Layer):
    """Cuts images into patches, and maps each to a vector.

        output(i) = W patch(i) + b

    where a patch is its pixels, row by row, in one vector. A convolution with
    a stride as great as its kernel is the same. With `patch_size=1` the cells
    of a convolutional network's feature grid are the patches.

    Args:
        patch_size: Side of a patch, or its height and width; they must divide
            those of the image.
        units: Length of a patch's vector.
        use_bias: Whether there is b.
        kernel_initializer: Of W.

    Call arguments:
        images: (batch, height, width, channels).

    Returns:
        (batch, patches, units), row by row.

    Reference:
        Dosovitskiy et al. 2021, section 3.1. https://arxiv.org/abs/2010.11929
    """

    def __init__(
        self,
        patch_size: int | tuple[int, int],
        units: int,
        *,
        use_bias: bool = True,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.patch_size = as_pair(patch_size, "patch_size")
        self.units = argument_checks.integer(units, "units", at_least=1)
        self.use_bias = use_bias
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.projection = keras.layers.Dense(
            units,
            use_bias=use_bias,
            kernel_initializer=self.kernel_initializer.clone(),
            name="projection",
            dtype=self.dtype_policy,
        )

    def build(self, images_shape):
        check_images(images_shape, self.patch_size)
        height, width = self.patch_size
        length = height * width * images_shape[-1]
        self.projection.build((None, None, length))

    def call(self, images):
        check_images(images.shape, self.patch_size)
        return self.projection(as_patches(images, self.patch_size))

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "patch_size": self.patch_size,
            "units": self.units,
            "use_bias": self.use_bias,
            "kernel_initializer": serialize(self.kernel_initializer),
        }


def as_patches(images, patch_size: tuple[int, int]):
    """Cut images into patches.

    Args:
        images: (batch, height, width, channels).
        patch_size: Height and width of a patch, which divide the image's.

    Returns:
        (batch, patches, patch height · patch width · channels), all row by
        row.
    """
    batch, _, _, channels = shape = ops.shape(images)
    patch_height, patch_width = patch_size
    rows, columns = grid_of(shape, patch_size)
    line = patch_width * channels
    x = ops.reshape(images, (batch, rows, patch_height, columns, line))
    x = ops.transpose(x, (0, 1, 3, 2, 4))  # (batch, rows, columns, height, …)
    return ops.reshape(x, (batch, rows * columns, patch_height * line))


def grid_of(shape, patch_size: tuple[int, int]) -> tuple:
    """Rows and columns of patches in images of a shape."""
    _, height, width, _ = shape
    return height // patch_size[0], width // patch_size[1]


def as_pair(value, name: str) -> tuple[int, int]:
    """Take a side as height and width, or both as they are."""
    pair = value if isinstance(value, (list, tuple)) else (value, value)
    if len(pair) != 2:
        raise ValueError(
            f"`{name}` must be an integer, or a height and a width. Received: "
            f"{name}={value!r}"
        )
    height, width = (
        argument_checks.integer(side, name, at_least=1) for side in pair
    )
    return height, width


def check_images(shape, patch_size: tuple[int, int]):
    """Refuse the shape of what is no images, or what patches do not divide."""
    shape = tuple(shape)
    if len(shape) != 4 or shape[-1] is None:
        raise ValueError(
            "Images must be (batch, height, width, channels), with a known "
            f"number of channels. Received: {shape}. Give images in shades of "
            "gray one channel: x[..., None]."
        )
    sides = shape[1:3]
    if any(
        side is not None and (side < patch or side % patch)
        for side, patch in zip(sides, patch_size, strict=True)
    ):
        raise ValueError(
            "`patch_size` must divide both sides of the image. Received: "
            f"patch_size={patch_size}, image_size={sides}. Resize the images, "
            "or choose another `patch_size`."
        )
