"""What attention refuses, each with a sentence that says what to do."""

import numbers

import keras
import tensorflow as tf
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.ops import masks

IMPLEMENTATIONS = ("auto", "dense", "tiled", "fused")


def heads(query, key, value):
    """Refuse heads that do not fit together."""
    shapes = {"query": query.shape, "key": key.shape, "value": value.shape}
    received = ", ".join(f"{k}={tuple(v)}" for k, v in shapes.items())
    for name, shape in shapes.items():
        if len(shape) != 4:
            raise ValueError(
                f"`{name}` must have 4 axes, (batch, length, heads, depth). "
                f"Received: {received}. For one head add an axis: "
                f"{name}[:, :, None, :]."
            )
        if shape[2] is None or shape[3] is None:
            raise ValueError(
                f"The heads and the depth of `{name}` must be known when "
                f"the graph is made. Received: {received}"
            )
    if query.shape[3] != key.shape[3]:
        raise ValueError(
            "`query` and `key` must have the same depth. "
            f"Received: {received}. Project one of them first."
        )
    if key.shape[2] != value.shape[2]:
        raise ValueError(
            "`key` and `value` must have the same number of heads. "
            f"Received: {received}"
        )
    if key.shape[2] < 1 or query.shape[2] % key.shape[2]:
        raise ValueError(
            "The heads of `key` must divide the heads of `query`. "
            f"Received: {received}"
        )
    for axis, what in ((0, "batch size"), (1, "length")):
        if not agree(key.shape[axis], value.shape[axis]):
            raise ValueError(
                f"`key` and `value` must have the same {what}. "
                f"Received: {received}"
            )
    if not agree(query.shape[0], key.shape[0]):
        raise ValueError(
            "`query` and `key` must have the same batch size. "
            f"Received: {received}"
        )


def options(window, scale, dropout, implementation, return_weights):
    """Refuse settings that have no meaning."""
    if window is not None:
        masks.check_window(window)
    if not (scale is None or isinstance(scale, numbers.Real)):
        raise ValueError(
            f"`scale` must be a number. Received: {scale!r}. To learn a "
            "temperature, multiply `query` by it and pass `scale=1.0`."
        )
    argument_checks.rate(dropout)
    argument_checks.choice(implementation, "implementation", IMPLEMENTATIONS)
    if return_weights and implementation in ("tiled", "fused"):
        raise ValueError(
            "`return_weights=True` needs the (query, key) matrix, which "
            f"`implementation={implementation!r}` never forms. Use 'dense' or "
            "'auto'."
        )


def modifiers(given) -> tuple:
    """Return the modifiers as a tuple; refuse what is not one."""
    given = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    for modifier in given:
        # Asked for by hook, because this room does not know that one.
        if not (
            isinstance(modifier, keras.layers.Layer)
            and hasattr(modifier, "query_heads")
        ):
            raise ValueError(
                "`modifiers` must be layers of `keras_attn.modifiers`, such "
                f"as `Rotary()`. Received: {modifier!r}. For a name, use "
                "`keras_attn.modifiers.get(name)`."
            )
    return given


def grid(x, name, query, key):
    """Give `x` the 4 axes (batch, heads, query, key), some of them 1."""
    if x is None:
        return None
    x = ops.convert_to_tensor(x)
    wanted = (query.shape[0], query.shape[2], query.shape[1], key.shape[1])
    received = tuple(x.shape)
    missing = 4 - len(received)
    padded = (1,) * missing + received
    if missing < 0 or not all(
        have == 1 or agree(have, want)
        for have, want in zip(padded, wanted, strict=True)
    ):
        raise ValueError(
            f"`{name}` must broadcast to (batch, heads, query, key) = "
            f"{wanted}. Received: {name}.shape={received}. A padding mask "
            f"(batch, key) needs two more axes: {name}[:, None, None, :]."
        )
    for _ in range(missing):
        x = x[None]
    return x


def positions(x, name, heads):
    """Refuse positions that are not (batch or 1, length) integers."""
    x = ops.convert_to_tensor(x)
    if not x.dtype.is_integer:
        raise ValueError(
            f"`{name}` must be integers. Received: {name}.dtype={x.dtype.name}"
        )
    wanted = tuple(heads.shape[:2])
    if (
        len(x.shape) != 2
        or not (x.shape[0] == 1 or agree(x.shape[0], wanted[0]))
        or not agree(x.shape[1], wanted[1])
    ):
        raise ValueError(
            f"`{name}` must have the shape (batch or 1, length), here "
            f"{wanted} or {(1, wanted[1])}. Received: "
            f"{name}.shape={tuple(x.shape)}"
        )
    return tf.cast(x, tf.int32)


def segments(given, query, key):
    """Return the segments of queries and of keys.

    Args:
        given: (batch or 1, length) integers for both, or a tuple of two.
        query, key: (batch, length, heads, depth).
    """
    of_query, of_key = masks.segment_pair(given)
    return (
        positions(of_query, "segments", query),
        positions(of_key, "segments", key),
    )


def agree(one, other) -> bool:
    """Whether two lengths can be equal; an unknown one can be anything."""
    return one is None or other is None or one == other


def at_most(integers, limit, message: str):
    """Return integers, failing with `message` if one is above `limit`.

    In a graph it fails when the graph runs; XLA drops the check.
    """
    if isinstance(integers, int) and isinstance(limit, int):
        if integers > limit:
            raise ValueError(f"{message} Received: {integers}")
        return integers
    integers = tf.convert_to_tensor(integers)
    limit = tf.cast(limit, integers.dtype)
    tf.debugging.assert_less_equal(integers, limit, message)
    return integers
