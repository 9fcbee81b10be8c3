"""Rows of a table by their numbers."""

import tensorflow as tf


def look_up(table, ids, *, past_end_is_nan: bool = False):
    """Take the row of each id.

        output(…) = table[ids(…)]

    An id that is not there is an error on CPU; `keras.ops.take` counts the
    ones below 0 from the end instead, so that -1 would pass for a token. XLA
    and GPUs cannot raise it. The gradient of the table is dense, with the sum
    of all that looked a row up: given the parts, as `tf.gather` gives them,
    Keras' Adam squares each for itself.

    Args:
        table: (rows, units).
        ids: (batch, length) integers.
        past_end_is_nan: Whether XLA gives NaN for an id past the last row,
            instead of the last row.

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
    table = tf.convert_to_tensor(table)
    found = _rows(table, ids)
    # Eagerly, it has failed by now.
    if not past_end_is_nan or tf.executing_eagerly():
        return found
    there = ids < tf.shape(table, out_type=ids.dtype)[0]
    return tf.where(tf.expand_dims(there, -1), found, _nan(table))


def first_rows(table, length):
    """Take the first rows; NaN for those past the end.

    Args:
        table: (rows, units).
        length: How many: an integer no greater than `rows`, or a tensor,
            which in a function that XLA compiles may turn out greater.

    Returns:
        (length, units).
    """
    table = tf.convert_to_tensor(table)
    rows = table[:length]
    if isinstance(length, int):
        return rows
    missing = tf.maximum(length - tf.shape(table)[0], 0)
    padding = [[0, missing], [0, 0]]
    return tf.pad(rows, padding, constant_values=_nan(table))


def _nan(table):
    return tf.constant(float("nan"), table.dtype)


def _rows(table, ids):
    @tf.custom_gradient
    def of_table(table):
        rows = tf.shape(table)[0]

        def gradient(upstream):
            return tf.math.unsorted_segment_sum(upstream, ids, rows)

        return tf.gather(table, ids), gradient

    return of_table(table)
