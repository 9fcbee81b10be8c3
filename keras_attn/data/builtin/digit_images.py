"""Handwritten digits that come with scikit-learn."""

import numpy as np
import tensorflow as tf

from keras_attn.data.builtin.splits import check_split
from keras_attn.extras import require

WHITE = 16  # the brightest pixel of scikit-learn's digits

# How many of each digit are held out, and the shuffle that chooses them.
NUM_VALIDATION = 20
NUM_TEST = 30
SEED = 0


def digits(split: str = "train") -> tf.data.Dataset:
    """Real handwritten digits, 8 pixels wide and high, white on black.

    Each of the ten digits is 20 times in "validation" and 30 times in "test";
    the other 1,297 of the 1,797 images are in "train". The images are shuffled
    once, always alike. The data does not say who wrote what, so the same hand
    may have written images of several splits.

    Args:
        split: "train", "validation" or "test".

    Returns:
        `{"image", "label"}`: uint8 (height, width, channels) = (8, 8, 1) from
        0 to 255, and an int32 from 0 to 9.

    Raises:
        ImportError: If scikit-learn is not installed.
    """
    images, labels = digit_arrays(split)
    return tf.data.Dataset.from_tensor_slices(
        {"image": images, "label": labels}
    )


def digit_arrays(split: str) -> tuple[np.ndarray, np.ndarray]:
    """The images (digits, 8, 8, 1) and labels (digits,) of a split."""
    check_split(split)
    bunch = require("sklearn.datasets", extra="data").load_digits()
    order = np.random.default_rng(SEED).permutation(len(bunch.target))
    images, labels = bunch.images[order], bunch.target[order]
    images = np.rint(images * (255 / WHITE)).astype("uint8")[..., np.newaxis]

    # How many images of the same digit come before each.
    earlier = np.cumsum(np.eye(10, dtype=int)[labels], axis=0)
    earlier = earlier[np.arange(len(labels)), labels] - 1
    chosen = {
        "validation": earlier < NUM_VALIDATION,
        "test": (NUM_VALIDATION <= earlier)
        & (earlier < NUM_VALIDATION + NUM_TEST),
        "train": NUM_VALIDATION + NUM_TEST <= earlier,
    }[split]
    return images[chosen], labels[chosen].astype("int32")
