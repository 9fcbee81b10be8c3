"""Rows of a table by their numbers."""

import tensorflow as tf


def look_up(table, ids):
    """Take the row of each id.

        output(…) = table[ids(…)]

    An id that is not there is an error on CPU; `keras.ops.take` counts the
    ones below 0 from the end instead, so that -1 would pass for a token. XLA
    and GPUs cannot raise it.

    Args:
        table: (rows, units).
        ids: (batch, length) integers.

    Returns:
        (batch, length, units).
    """
    ids = tf.convert_to_tensor(ids)
    if not ids.dtype.is_integer:
        raise ValueError(
            "Ids must be integers. Received: "
            f"dtype={ids.dtype.name}. Cast them, or declare them so: "
            'keras.Input((None,), dtype="int32").'
        )
    return tf.gather(tf.convert_to_tensor(table), ids)
