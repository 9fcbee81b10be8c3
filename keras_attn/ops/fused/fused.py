"""Attention by the fused kernel, for all that the kernel can be told."""

import tensorflow as tf

from keras_attn.ops import masks
from keras_attn.ops.fused import kernel
from keras_attn.ops.fused.target import kernel_target
from keras_attn.ops.scores import Rules
from keras_attn.ops.scores import scaled

# Segments of keys and of queries that are padding: nobody counts so far.
_NO_KEY, _NO_QUERY = tf.int32.min, tf.int32.min + 1

# Heads are filled up to a multiple of this: half a row of the TPU's memory.
_DEPTHS = 64


def reason_against(
    rules: Rules,
    query,
    key,
    *,
    query_positions,
    key_positions,
    bias,
    mask,
    dropout: float,
) -> str:
    """Why the kernel cannot do this attention; empty if it can.

    | what | the kernel |
    | --- | --- |
    | causal, window | yes, where positions are consecutive and known |
    | grouped heads, any depth, any length | yes, if known when traced |
    | key padding, segments | yes |
    | SoftCap, Sinks | yes |
    | Rotary, QKNorm, and what changes heads alone | yes, before it |
    | ALiBi, RelativeBias, Locality, bias | no: tiled |
    | a mask for each query or head | no: tiled |
    | dropout | no: tiled |
    | float32, bfloat16 | yes |
    | other dtypes | no: tiled |
    | queries that lie before every key | no: tiled |
    """
    if dropout:
        return "dropout"
    if bias is not None:
        return "bias"
    if mask is not None and mask.shape[1:3] != (1, 1):
        return "a mask for each query or head"
    if query.dtype not in (tf.float32, tf.bfloat16):
        return f"{query.dtype.name}"
    for modifier in rules.modifiers:
        if modifier.fused() is None:
            return type(modifier).__name__
    if None in (*query.shape[:3], *key.shape[:3]):
        return "unknown sizes"
    left, right = _reach(rules)
    if left is None and right is None:
        return ""
    first = _first_position(query_positions, key_positions)
    if first is None:
        return "positions that are not consecutive, or not known when traced"
    last = first + query.shape[1] - 1
    if right is not None and first + right < 0:
        return "queries before every key"
    if left is not None and last - left >= key.shape[1]:
        return "queries after every key"
    return ""


def fused_attention(
    rules: Rules,
    query,
    key,
    value,
    query_positions,
    key_positions,
    *,
    mask=None,
    query_mask=None,
    segments=None,
    parameters=(),
):
    """Attend with one kernel, which keeps scores in the TPU's own memory.

    Args:
        rules, query, key, value, query_positions, key_positions, mask,
            query_mask, segments, parameters: As for `dense_attention`, and
            without `reason_against`.

    Returns:
        (batch, query, heads, depth) in the dtype of `value`.

    Reference:
        Dao 2023. https://arxiv.org/abs/2307.08691; jax's splash attention.
    """
    left, right = _reach(rules)
    offset = 0
    if left is not None or right is not None:
        offset = _first_position(query_positions, key_positions)
    length = query.shape[1]
    query_length = kernel.padded(length)
    # Every query, padding too, needs a key within its reach: what the kernel
    # makes of none is not a number.
    key_length = key.shape[1]
    if left is not None:
        key_length = max(key_length, query_length + offset)
    key_length = kernel.padded(key_length)
    heads = (
        _filled(tf.cast(scaled(query, rules), query.dtype), query_length),
        _filled(key, key_length),
        _filled(value, key_length),
    )
    options = {}
    for modifier in rules.modifiers:
        options |= modifier.fused()
    shape = kernel.KernelShape(
        heads=query.shape[2],
        query=query_length,
        key=key_length,
        left=left,
        right=right,
        offset=offset,
        soft_cap=options.get("soft_cap"),
        depth=heads[0].shape[3],
        interpreted=kernel_target() == "interpreter",
    )
    ids = _segments(query, key, mask, query_mask, segments)
    seen = None
    if ids is not None:
        seen = _sees_a_key(*ids, offset, left, right)
    if ids is None and (query_length, key_length) != (length, key.shape[1]):
        ids = tf.ones(query.shape[:2], "int32"), tf.ones(key.shape[:2], "int32")
    if ids is not None:
        lengths = (query_length, _NO_QUERY), (key_length, _NO_KEY)
        ids = {
            name: tf.pad(x, [[0, 0], [0, to - x.shape[1]]], constant_values=no)
            for name, x, (to, no) in zip(("q", "kv"), ids, lengths, strict=True)
        }

    forward, backward = kernel.make_kernel(shape)

    @tf.custom_gradient
    def attend(query, key, value, *sinks):
        output, kept = forward(
            query, key, value, ids, sinks[0] if sinks else None
        )

        def gradient(upstream):
            found = backward(kept, upstream)
            return found[: 3 + len(sinks)]

        return output, gradient

    sinks = rules.sinks(parameters) if rules.modifiers else None
    output = attend(*heads, *([] if sinks is None else [sinks]))
    output = tf.transpose(output, [0, 2, 1, 3])
    output = tf.cast(output[:, :length, :, : value.shape[3]], value.dtype)
    if seen is not None:
        output = masks.zero_padding(output, seen)
    return masks.zero_padding(output, query_mask)


def _reach(rules):
    """How many positions before and after its own a query sees, or None."""
    side = None if rules.window is None else rules.window - 1
    return side, 0 if rules.causal else side


def _first_position(query_positions, key_positions):
    """The first query's, keys counting from 0; None if it is not so simple."""
    found = [tf.get_static_value(x) for x in (query_positions, key_positions)]
    if any(x is None or x.shape[0] != 1 for x in found):
        return None
    if any((x[0, 1:] - x[0, :-1] != 1).any() for x in found):
        return None
    query, key = (int(x[0, 0]) for x in found)
    return query - key


def _segments(query, key, mask, query_mask, segments):
    """(batch, query) and (batch, key) integers; equal ones see each other."""
    if mask is None and query_mask is None and segments is None:
        return None
    if segments is None:
        queries, keys = tf.ones((1, 1), "int32"), tf.ones((1, 1), "int32")
    else:
        queries, keys = (tf.cast(x, "int32") for x in segments)
    queries = tf.broadcast_to(queries, query.shape[:2])
    keys = tf.broadcast_to(keys, key.shape[:2])
    if query_mask is not None:
        queries = tf.where(query_mask, queries, _NO_QUERY)
    if mask is not None:
        keys = tf.where(mask[:, 0, 0], keys, _NO_KEY)
    return queries, keys


def _sees_a_key(queries, keys, offset, left, right):
    """(batch, query) booleans; XLA reduces what it compares at once."""
    same = queries[:, :, None] == keys[:, None, :]  # (batch, query, key)
    distance = (
        tf.range(queries.shape[1])[:, None]
        + offset
        - tf.range(keys.shape[1])[None]
    )
    if left is not None:
        same &= distance <= left
    if right is not None:
        same &= distance >= -right
    return tf.reduce_any(same, axis=-1)


def _filled(heads, length):
    """(batch, heads, length, depth), filled up with zeros."""
    heads = tf.transpose(heads, [0, 2, 1, 3])
    more = length - heads.shape[2], -heads.shape[3] % _DEPTHS
    return tf.pad(heads, [[0, 0], [0, 0], [0, more[0]], [0, more[1]]])
