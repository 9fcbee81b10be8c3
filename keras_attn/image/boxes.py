"""Boxes of regions, as fractions of their image."""

import tensorflow as tf


def boxes_inside(boxes):
    """Whether each image has regions, and all of them lie in it.

        inside = 0 ≤ left < right ≤ 1 and 0 ≤ top < bottom ≤ 1

    A box of four zeros is padding, of which there may be any number.

    Args:
        boxes: (..., regions, 4), left, top, right and bottom as fractions of
            the image's width and height.

    Returns:
        (...) booleans; False also if nothing but padding is there.
    """
    boxes = tf.cast(boxes, tf.float32)
    left, top, right, bottom = tf.unstack(boxes, axis=-1)
    padding = tf.reduce_all(boxes == 0, axis=-1)  # (..., regions)
    # Comparisons with NaN are false.
    inside = (left >= 0) & (left < right) & (right <= 1)
    inside &= (top >= 0) & (top < bottom) & (bottom <= 1)
    return tf.reduce_all(inside | padding, -1) & tf.reduce_any(inside, -1)
