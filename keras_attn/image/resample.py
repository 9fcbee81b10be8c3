"""Images of another size, pixel by pixel as Pillow makes them."""

import tensorflow as tf

from keras_attn.base import argument_checks

METHODS = ("bilinear", "bicubic", "lanczos3")


def resample(levels, size, method: str):
    """Resize an image of whole levels, and give whole levels.

        output = round(W_rows round(W_columns levels))

    Images that shrink are smoothed by kernels that grow. Pillow rounds after
    either direction, and so is done here: models that were trained on such
    pixels get the same ones. Few differ by one level, where 32 bits round
    otherwise; more where Pillow, from version 13, takes the rows first.

    Args:
        levels: (height, width, channels) float32, whole numbers to 255.
        size: New height and width, Python's or tensors.
        method: "bilinear", "bicubic" or "lanczos3".

    Returns:
        (new_height, new_width, channels) float32, whole numbers to 255.
    """
    argument_checks.choice(method, "method", METHODS)
    for shape in ((tf.shape(levels)[0], size[1]), size):
        levels = tf.image.resize(
            levels, tf.stack(shape), method=method, antialias=True
        )
        levels = tf.clip_by_value(tf.floor(levels + 0.5), 0, 255)
    return levels
