"""Attention that forms the whole (query, key) matrix."""

import tensorflow as tf

from keras_attn.ops.dropout import seeded_dropout
from keras_attn.ops.scores import Rules
from keras_attn.ops.scores import accumulation_dtype
from keras_attn.ops.scores import grouped_matmul
from keras_attn.ops.scores import scaled
from keras_attn.ops.scores import tile_scores
from keras_attn.ops.softmax import masked_softmax


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
        dropout: Fraction of the weights dropped.
        seed: (2,) integers, if there is dropout.

    Returns:
        (batch, query, heads, depth) output in the dtype of `value`, and the
        (batch, heads, query, key) weights that made it.
    """
    heads = [tf.transpose(x, [0, 2, 1, 3]) for x in (query, key, value)]
    output, weights = attend_heads(
        rules,
        *heads,
        query_positions,
        key_positions,
        bias=bias,
        mask=mask,
        parameters=parameters,
        dropout=dropout,
        seed=seed,
    )
    return tf.transpose(output, [0, 2, 1, 3]), weights


def attend_heads(
    rules: Rules,
    query,
    key,
    value,
    query_positions,
    key_positions,
    *,
    bias=None,
    mask=None,
    parameters=(),
    dropout: float = 0.0,
    seed=None,
):
    """Do `dense_attention` with the heads in front of the lengths.

    Args:
        query: (batch, heads, query, depth).
        key, value: (batch, kv_heads, key, depth).

    Returns:
        (batch, heads, query, depth) output, and the weights.
    """
    scores, visible = tile_scores(
        rules,
        scaled(query, rules),
        key,
        query_positions,
        key_positions,
        bias=bias,
        mask=mask,
        parameters=parameters,
    )
    sinks = rules.sinks(parameters)
    if sinks is not None:
        sinks = tf.cast(sinks, scores.dtype)[:, None, None]
    weights = masked_softmax(scores, visible, sinks)
    if dropout:
        weights = seeded_dropout(weights, dropout, seed)
    dtype = accumulation_dtype(value.dtype)
    output = grouped_matmul(weights, tf.cast(value, dtype), transpose_key=False)
    return tf.cast(output, value.dtype), tf.cast(weights, value.dtype)
