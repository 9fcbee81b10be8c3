"""What every search is told: checked, and brought to tensors."""

import functools

import numpy as np
import tensorflow as tf

from keras_attn.base import argument_checks

# An integer, on which the shapes of the graph depend.
whole_number = functools.partial(
    argument_checks.integer,
    reason="not a tensor: the shapes of the graph depend on it",
)


def size(batch_size):
    """Take a batch size: a whole number, or a tensor where it is unknown."""
    if tf.is_tensor(batch_size):
        known = tf.get_static_value(batch_size)
        return tf.cast(batch_size, tf.int32) if known is None else int(known)
    return whole_number(batch_size, "batch_size", at_least=0)


def first_token(start_id, batch_size):
    """Give each row its first token: (batch,) int32 from a number or (batch,).

    Raises:
        ValueError: If the shape of `start_id` is neither.
    """
    start_id = tf.cast(start_id, tf.int32)
    if start_id.shape.rank == 0:
        return tf.fill([batch_size], start_id)
    _check_shape(start_id, "start_id", [batch_size])
    return tf.reshape(start_id, [batch_size])


def end_ids(value) -> tuple[int, ...]:
    """Take what ends a row: an id, -1 for none, or several ids.

    Raises:
        ValueError: If there is none among several, or one that is no id.
    """
    if isinstance(value, (list, tuple, np.ndarray)) and np.ndim(value) == 1:
        numbers = [whole_number(each, "end_id", at_least=0) for each in value]
        if numbers:
            return tuple(dict.fromkeys(numbers))
    return (whole_number(value, "end_id"),)


def ids(value, name: str) -> tuple[int, ...]:
    """Take several ids of the vocabulary.

    Raises:
        ValueError: If one is no id.
    """
    return tuple(whole_number(number, name, at_least=0) for number in value)


def limits(value, batch_size):
    """Bring the rows' own limits to (batch,) int32.

    Raises:
        ValueError: If there is not one for each row.
    """
    value = tf.cast(value, tf.int32)
    if value.shape.rank != 1:
        raise ValueError(
            "`limits` must have a number for each row, (batch,); one for all "
            f"of them is `max_length`. Received: limits.shape={value.shape}"
        )
    _check_shape(value, "limits", [batch_size])
    return tf.reshape(value, [batch_size])


def for_each_row(value, name: str, batch_size, dtype):
    """Bring a number, or (batch,) numbers, to (batch, 1).

    A Python number stays one, so that the graph can be made for it.

    Raises:
        ValueError: If the shape is neither.
    """
    if not tf.is_tensor(value) and np.ndim(value) == 0:
        return value
    value = tf.cast(value, dtype)
    if value.shape.rank == 0:
        return tf.fill([batch_size, 1], value)
    _check_shape(value, name, [batch_size])
    return tf.reshape(value, [batch_size, 1])


def _check_shape(tensor, name, shape):
    known = [None if tf.is_tensor(axis) else axis for axis in shape]
    if not tensor.shape.is_compatible_with(known):
        raise ValueError(
            f"`{name}` must be a number or have one for each row, (batch,) = "
            f"{tuple(known)}. Received: {name}.shape={tuple(tensor.shape)}"
        )
