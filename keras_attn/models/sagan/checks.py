"""What SAGAN refuses, each with a sentence that says what to do."""

import keras
import numpy as np

from keras_attn.base import argument_checks

_SMALLEST = 32


def sizes(image_size, num_classes):
    """Refuse sizes that no network can be made of."""
    size = argument_checks.integer(image_size, "image_size", at_least=_SMALLEST)
    if size & (size - 1):
        raise ValueError(
            f"`image_size` must be a power of two from {_SMALLEST}. Received: "
            f"image_size={image_size}. Resize the images."
        )
    if num_classes is not None:
        argument_checks.integer(num_classes, "num_classes", at_least=1)


def value_range(given) -> tuple:
    """Return the lowest and the highest value of a pixel; None is 0 and 1."""
    given = (0.0, 1.0) if given is None else tuple(given)
    if len(given) != 2 or not given[0] < given[1]:
        raise ValueError(
            "`value_range` must be the lowest and the highest value of a "
            f"pixel. Received: value_range={given}"
        )
    return given


def resolutions(given, image_size: int) -> tuple:
    """Return the sizes of the grids with attention; None is a quarter."""
    given = (image_size // 4,) if given is None else tuple(given)
    possible = [2**n for n in range(3, image_size.bit_length() - 1)]
    if not set(given) <= set(possible):
        raise ValueError(
            f"`attention_resolutions` must be among {possible}, the grids that "
            f"both networks have. Received: {given}"
        )
    return given


def seeds_and_classes(seeds, classes, num_classes: int | None):
    """Return (batch,) arrays of integers, or None for no classes."""
    seeds = np.asarray(seeds)
    if seeds.ndim != 1 or seeds.dtype.kind not in "iu" or (seeds < 0).any():
        raise ValueError(
            "`seeds` must be (batch,) integers from 0. Received: "
            f"seeds={seeds!r}"
        )
    if (num_classes is None) != (classes is None):
        raise ValueError(
            "`classes` must be given for a model with classes, and for no "
            f"other. Received: classes={classes!r}, num_classes={num_classes}"
        )
    if num_classes is None:
        return seeds, None
    classes = np.asarray(classes)
    if (
        classes.shape != seeds.shape
        or classes.dtype.kind not in "iu"
        or ((classes < 0) | (classes >= num_classes)).any()
    ):
        raise ValueError(
            "`classes` must be an integer for each seed, from 0 to "
            f"{num_classes - 1}. Received: classes={classes!r} for "
            f"{len(seeds)} seeds"
        )
    return seeds, classes


def batch(data, num_classes: int | None):
    """Return the images and labels of a batch of the dataset."""
    images, labels, weights = keras.utils.unpack_x_y_sample_weight(data)
    if weights is not None or (num_classes is None) != (labels is None):
        wanted = "images" if num_classes is None else "(images, labels)"
        given = [tuple(x.shape) for x in keras.tree.flatten(data)]
        raise ValueError(
            f"A SAGAN with num_classes={num_classes} is trained on {wanted}. "
            f"Received batches of {given}"
        )
    dtype = keras.backend.standardize_dtype(images.dtype)
    if "float" not in dtype:
        raise ValueError(
            "Images must be floats within `value_range`. Received: dtype "
            f"{dtype}. Divide 8-bit pixels by 255."
        )
    return images, labels
