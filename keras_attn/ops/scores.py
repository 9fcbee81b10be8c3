"""Scores of one tile: everything between the heads and the softmax."""

import dataclasses

import tensorflow as tf

from keras_attn.ops import masks
from keras_attn.ops.softmax import EXCLUDED
from keras_attn.ops.tiling.tiles import length_of


@dataclasses.dataclass(frozen=True)
class Rules:
    """How keys are scored, apart from the tensors that go into it."""

    scale: float
    causal: bool = False
    window: int | None = None
    modifiers: tuple = ()

    def sinks(self, parameters):
        """Return the (heads,) scores that attend to nothing, or None."""
        found = [
            modifier.sinks(own)
            for modifier, own in zip(self.modifiers, parameters, strict=True)
        ]
        found = [sinks for sinks in found if sinks is not None]
        if len(found) > 1:
            raise ValueError(
                "`modifiers` may hold one `Sinks` only: each head has one "
                f"score that attends to nothing. Received: {self.modifiers}"
            )
        return found[0] if found else None


def accumulation_dtype(dtype):
    """Scores and sums are kept in float32, or in float64 if that came."""
    return tf.float64 if dtype == tf.float64 else tf.float32


def scaled(query, rules: Rules):
    """Multiply by the scale, in the dtype that scores are kept in.

    Before the product: |q| |k| overflows float16 long before scores that are
    worth having do.
    """
    dtype = accumulation_dtype(query.dtype)
    return tf.cast(query, dtype) * tf.constant(rules.scale, dtype)


def grouped_matmul(query, key, transpose_key: bool = True):
    """Multiply query heads by the key head they share, without repeating it.

    Args:
        query: (batch, heads, query, depth).
        key: (batch, kv_heads, key, depth), `kv_heads` dividing `heads`.
        transpose_key: False for (batch, heads, query, key) by (batch,
            kv_heads, key, depth), as weights meet values.

    Returns:
        (batch, heads, query, key), or (batch, heads, query, depth).
    """
    heads, kv_heads = query.shape[1], key.shape[1]
    if heads == kv_heads:
        return tf.matmul(query, key, transpose_b=transpose_key)
    folded = fold_groups(query, kv_heads)
    product = tf.matmul(folded, key, transpose_b=transpose_key)
    return tf.reshape(
        product,
        [
            length_of(query, 0),
            heads,
            length_of(query, 2),
            length_of(product, 3),
        ],
    )


def fold_groups(x, kv_heads: int):
    """Lay the rows of heads that share a key head end to end.

    Heads of one group stand next to each other, so this moves no data.

    Args:
        x: (batch, heads, query, ...).
        kv_heads: Number of key heads, dividing `heads`.

    Returns:
        (batch, kv_heads, heads / kv_heads · query, ...).
    """
    heads = x.shape[1]
    if heads == kv_heads:
        return x
    rows = heads // kv_heads * length_of(x, 2)
    return tf.reshape(x, [length_of(x, 0), kv_heads, rows, length_of(x, 3)])


def tile_scores(
    rules: Rules,
    query,
    key,
    query_positions,
    key_positions,
    *,
    bias=None,
    mask=None,
    real=None,
    segments=None,
    parameters=(),
):
    """Score a tile of queries against a tile of keys.

        scores = cap(q · k) + bias

    Args:
        rules: Scale, causality, window and modifiers.
        query: (batch, heads, query, depth), `scaled`.
        key: (batch, kv_heads, key, depth).
        query_positions: (batch or 1, query) integers.
        key_positions: (batch or 1, key) integers.
        bias: Broadcastable to (batch, heads, query, key), or None.
        mask: Booleans, broadcastable likewise, or None.
        real: (1, 1, 1, key) booleans, False for keys that only fill up a tile,
            or None.
        segments: (batch or 1, query) and (batch or 1, key) integers, or None.
        parameters: One tuple of weights for each modifier.

    Returns:
        (batch, heads, query, key) scores, in the dtype of `query`, and which
        of them may be seen, broadcastable to them, or None for all.
    """
    dtype = query.dtype
    scores = grouped_matmul(query, tf.cast(key, dtype))
    for modifier in rules.modifiers:
        scores = modifier.cap_scores(scores)
    if bias is not None:
        bias = tf.cast(bias, dtype)
        # -inf is how other libraries hide a key; infinity minus infinity, in
        # a row of them, would not be a number.
        mask = masks.combine(mask, bias > EXCLUDED)
        scores += tf.maximum(bias, EXCLUDED)
    for modifier, own in zip(rules.modifiers, parameters, strict=True):
        added = modifier.bias(own, query_positions, key_positions)
        if added is not None:
            scores += tf.cast(added, dtype)
    visible = masks.combine(
        masks.by_position(
            query_positions,
            key_positions,
            causal=rules.causal,
            window=rules.window,
        ),
        *(
            modifier.visible(query_positions, key_positions)
            for modifier in rules.modifiers
        ),
    )  # (batch or 1, query, key)
    if segments is not None:
        visible = masks.combine(visible, masks.by_segment(*segments))
    visible = None if visible is None else visible[:, None]
    return scores, masks.combine(real, visible, mask)
