"""Which places a chain of jumps comes to."""

import tensorflow as tf


def reached(starts, goals):
    """Find all places that jumps lead to.

    Args:
        starts: (places,) booleans: where a chain starts.
        goals: (places,) int64: where each place jumps to, always in the same
            direction; the last place of a chain jumps to itself.

    Returns:
        (places,) booleans: the starts, and what follows from them.
    """

    def jump(mask, goals, _):
        places = tf.gather(goals, tf.where(mask)[:, 0])
        new = tf.tensor_scatter_nd_update(
            mask, places[:, tf.newaxis], tf.ones_like(places, tf.bool)
        )
        # Jumps twice as far: as many rounds as the longest chain has digits.
        return new, tf.gather(goals, goals), tf.reduce_any(new != mask)

    mask, _, _ = tf.while_loop(
        lambda mask, goals, grown: grown,
        jump,
        (starts, goals, tf.constant(True)),
        parallel_iterations=1,
    )
    return mask
