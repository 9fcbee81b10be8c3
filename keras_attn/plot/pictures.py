"""Arrays that can be drawn as pictures."""

import numpy as np
from keras import ops


def as_picture(image):
    """(height, width) or (height, width, 3) from 0 to 1."""
    return _as_pixels(
        image, "image", "(height, width)", "Of a batch, pick one: image[0]."
    )


def as_pictures(images):
    """(batch, height, width) or (batch, height, width, 3) from 0 to 1."""
    return _as_pixels(
        images, "images", "(batch, height, width)", "One needs a batch too."
    )


def _as_pixels(given, name, axes, advice):
    array = ops.convert_to_numpy(given)
    if array.dtype == "uint8":
        array = array / 255
    array = np.asarray(array, "float64")
    rank = 1 + axes.count(",")
    colour = array.ndim == rank + 1 and array.shape[-1] in (1, 3)
    if not (array.ndim == rank or colour) or 0 in array.shape:
        raise ValueError(
            f"`{name}` must be {axes}, or with 1 or 3 channels as the last "
            f"axis. Received: {name}.shape={array.shape}. {advice}"
        )
    # Of NaN neither holds.
    if not (array.min() >= 0 and array.max() <= 1):
        raise ValueError(
            f"`{name}` must be uint8, or from 0 to 1. Received: minimum "
            f"{array.min()}, maximum {array.max()}. Undo the model's "
            f"`value_range`: ({name} - lowest) / (highest - lowest)."
        )
    return array[..., 0] if colour and array.shape[-1] == 1 else array
