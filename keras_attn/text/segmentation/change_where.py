"""Some strings of a batch changed, and the others left alone."""

from collections.abc import Callable

import tensorflow as tf


def change_where(chosen, change: Callable, strings):
    """Change the strings that need it, which are few as a rule.

    Args:
        chosen: (batch,) booleans.
        change: Takes the chosen strings, (some,), and returns as many.
        strings: (batch,) strings.

    Returns:
        (batch,) strings.
    """
    places = tf.where(chosen)
    changed = change(tf.gather_nd(strings, places))
    return tf.tensor_scatter_nd_update(strings, places, changed)
