"""Attention that forms the whole (query, key) matrix."""

import tensorflow as tf

from keras_attn.ops import masks
from keras_attn.ops.kv_blocks import Part
from keras_attn.ops.kv_blocks import attend_parts
from keras_attn.ops.scores import Rules


def dense_attention(
    rules: Rules,
    query,
    key,
    value,
    query_positions,
    key_positions,
    *,
    bias=None,
    mask=None,
    query_mask=None,
    segments=None,
    parameters=(),
    dropout: float = 0.0,
    seed=None,
):
    """Attend with one matrix of scores: the equation, as it is written.

        output = softmax(scores) value

    Args:
        rules, bias, mask, parameters: As for `tile_scores`.
        query: (batch, query, heads, depth).
        key, value: (batch, key, kv_heads, depth).
        query_positions, key_positions: (batch or 1, length) integers.
        query_mask: (batch, query) booleans, or None.
        segments: (batch or 1, length) integers of queries and of keys, or
            None.
        dropout: Fraction of the weights dropped.
        seed: (2,) integers, if there is dropout.

    Returns:
        (batch, query, heads, depth) output in the dtype of `value`, and the
        (batch, heads, query, key) weights that made it.
    """
    query, key, value = (
        tf.transpose(x, [0, 2, 1, 3]) for x in (query, key, value)
    )
    if segments is not None:
        mask = masks.combine(mask, masks.by_segment(*segments)[:, None])
    output, weights = attend_parts(
        rules,
        query,
        [Part(key, value, key_positions, mask, bias)],
        query_positions,
        parameters=parameters,
        dropout=dropout,
        seed=seed,
    )
    output = tf.transpose(output, [0, 2, 1, 3])
    return (
        masks.zero_padding(output, query_mask),
        masks.zero_padding(weights, query_mask, axis=2),
    )
