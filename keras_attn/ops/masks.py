"""Boolean masks. True always means "may be seen"."""

import functools

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from keras_attn.base import argument_checks


def as_boolean(mask, name: str = "mask"):
    """Take booleans, or numbers 0 and 1, as a boolean mask; None stays None.

    Floating-point masks are taken where their values are known, and refused
    if one is neither 0 nor 1: some libraries mean "1 = seen" by them and
    others "0 = seen, -inf = hidden", which a cast would turn around.
    """
    if mask is None:
        return None
    if not isinstance(mask, keras.KerasTensor):
        mask = ops.convert_to_tensor(mask)
    dtype = keras.backend.standardize_dtype(mask.dtype)
    if "float" in dtype:
        _check_zeros_and_ones(mask, name, dtype)
    return ops.cast(mask, "bool")


def key_mask(padding):
    """Lift a (batch, key) padding mask to (batch, 1, key); None stays None."""
    return None if padding is None else ops.expand_dims(padding, axis=1)


def combine(*masks):
    """AND the masks that are given, broadcasting; None if none is given."""
    given = [ops.cast(mask, "bool") for mask in masks if mask is not None]
    return functools.reduce(ops.logical_and, given) if given else None


def for_attention(
    *, value_mask=None, key_mask=None, attention_mask=None, shape=None
):
    """Combine everything that says which keys may be seen.

        visible(q, k) = value_mask(k) and key_mask(k) and attention_mask(q, k)

    A query's own padding is left to `zero_padding`: joining it in here would
    make a (query, key) matrix out of two short rows.

    Args:
        value_mask, key_mask: (batch, key) padding masks, or None.
        attention_mask: Broadcastable to (batch, query, key) or to (batch,
            heads, query, key), or None.
        shape: What all of them must broadcast to, where known, such as
            `(None, query, key)`; None does not check.

    Returns:
        Booleans of rank 3 or more that broadcast to `shape`, (batch, 1, key)
        if there is only padding; None if everything is visible.
    """
    attention_mask = as_boolean(attention_mask, "attention_mask")
    rank = 3 if attention_mask is None else max(3, len(attention_mask.shape))
    if attention_mask is not None:
        _check_broadcasts(attention_mask, shape, "attention_mask")
        missing = rank - len(attention_mask.shape)
        attention_mask = ops.expand_dims(attention_mask, tuple(range(missing)))
    visible = [attention_mask]
    for name, mask in {"value_mask": value_mask, "key_mask": key_mask}.items():
        mask = as_boolean(mask, name)
        if mask is not None:
            check_padding(mask, shape and (shape[0], shape[-1]), name)
            mask = ops.expand_dims(mask, tuple(range(1, rank - 1)))
        visible.append(mask)
    return combine(*visible)


def with_first(padding):
    """Let the first of each row count: (batch, length); None stays None."""
    if padding is None:
        return None
    first = ops.ones_like(padding[:, :1])
    return ops.concatenate([first, padding[:, 1:]], axis=1)


def zero_padding(tensor, mask=None, name: str = "query_mask", *, axis: int = 1):
    """Put zeros where there is padding.

    Selected, not multiplied: 0 · NaN is NaN, in a gradient as well.

    Args:
        tensor: (batch, ..., length, ...), the positions at `axis`.
        mask: (batch, length), or None to leave `tensor` alone; more axes of
            positions, (batch, height, width), stand at `axis` and after it.
        name: The argument to name if the mask does not fit.
        axis: Where the positions are in `tensor`: 1 for inputs and outputs,
            2 for the queries of (batch, heads, query, key) weights.

    Returns:
        Like `tensor`.
    """
    if mask is None:
        return tensor
    mask = as_boolean(mask, name)
    last = axis + len(mask.shape) - 1
    given = (tensor.shape[0], *tensor.shape[axis:last])
    check_padding(mask, given, name)
    ones = (*range(1, axis), *range(last, len(tensor.shape)))
    real = ops.expand_dims(mask, ones)
    return ops.where(real, tensor, ops.zeros((), tensor.dtype))


def from_start(sequence):
    """Positions of a (batch, length, ...) tensor, from 0: (1, length)."""
    return consecutive(0, ops.shape(sequence)[1])


def consecutive(start, stop):
    """Positions from one to before another: (1, stop - start).

    Stacked, because `tf.get_static_value` knows what that comes to, and does
    not for a new axis: a kernel has to know positions when it is made.
    """
    return tf.stack([tf.range(start, stop)])


def check_padding(mask, shape, name: str):
    """Refuse a padding mask that has not one boolean for each position.

    Args:
        mask: A tensor.
        shape: What is wanted, such as (batch, key), None where unknown; or
            None for any (batch, length).
        name: The argument to name.
    """
    given = tuple(mask.shape)
    wanted = (None, None) if shape is None else tuple(shape)
    if len(given) != len(wanted) or not _broadcasts(given, wanted):
        raise ValueError(
            f"`{name}` must have one value for each position, (batch, length) "
            f"= {wanted}. Received: {name}.shape={given}. A mask that differs "
            "from query to query belongs in `attention_mask`."
        )


def check_window(window: int | None, name: str = "window"):
    """Refuse a window that lets a query see nothing, not even itself."""
    if window is not None:
        reason = "or None; 1 lets a query see only its own position"
        argument_checks.integer(window, name, at_least=1, reason=reason)


def by_position(
    query_positions, key_positions, *, causal: bool, window: int | None
):
    """Causal and window mask from positions.

        visible = (0 <= distance)        if causal
                  (|distance| < window)  if there is a window
        where distance = query position - key position

    Args:
        query_positions: (batch or 1, query) integers.
        key_positions: (batch or 1, key) integers.
        causal: Whether keys at later positions are hidden.
        window: Keys this many positions away, or more, are hidden.

    Returns:
        (batch or 1, query, key) booleans; None if everything is visible.
    """
    if not causal and window is None:
        return None
    distance = query_positions[:, :, None] - key_positions[:, None, :]
    if window is None:
        return distance >= 0
    if causal:
        return ops.logical_and(distance >= 0, distance < window)
    return ops.abs(distance) < window


def segment_pair(segments):
    """Take segments of queries and keys, or of both at once, as a tuple."""
    pair = segments if isinstance(segments, tuple) else (segments, segments)
    if len(pair) != 2:
        raise ValueError(
            "`segments` must be (batch, length) integers, or a tuple of two: "
            "those of the queries and those of the keys. Received a tuple of "
            f"{len(pair)}."
        )
    return tuple(ops.convert_to_tensor(each) for each in pair)


def by_segment(query_segments, key_segments):
    """Mask of packed documents: a query sees keys of its own segment only.

        visible(q, k) = segment(q) = segment(k) and segment(k) != 0

    Padding, segment 0, sees nothing and is not seen.

    Args:
        query_segments: (batch or 1, query) integers.
        key_segments: (batch or 1, key) integers.

    Returns:
        (batch or 1, query, key) booleans.
    """
    query, key = query_segments[:, :, None], key_segments[:, None, :]
    return ops.logical_and(ops.equal(query, key), ops.not_equal(key, 0))


def _check_zeros_and_ones(mask, name, dtype):
    known, fault = None, "values that are not known yet"
    if not isinstance(mask, keras.KerasTensor):
        known = tf.get_static_value(mask)
    if known is not None:
        if np.all((known == 0) | (known == 1)):
            return
        fault = "other values than 0 and 1"
    raise ValueError(
        f"`{name}` must be boolean, True meaning 'may be seen'. Received: "
        f"{name}.dtype={dtype} with {fault}. Numbers that are added to the "
        "scores belong in `bias`; for a 0/1 mask, cast it to bool."
    )


def _check_broadcasts(mask, shape, name):
    given = tuple(mask.shape)
    if shape is not None and not _broadcasts(given, tuple(shape)):
        raise ValueError(
            f"`{name}` must broadcast to (batch, ..., query, key) = "
            f"{tuple(shape)}. Received: {name}.shape={given}. Padding, one "
            "value for each (batch, key), belongs in `value_mask`."
        )


def _broadcasts(given, wanted):
    pairs = zip(reversed(given), reversed(wanted), strict=False)
    return len(given) <= len(wanted) and all(
        None in pair or pair[0] in (1, pair[1]) for pair in pairs
    )
