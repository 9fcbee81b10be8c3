"""Attention to keys that are kept in several places."""

import dataclasses

import tensorflow as tf

from keras_attn.ops.dropout import seeded_dropout
from keras_attn.ops.scores import Rules
from keras_attn.ops.scores import accumulation_dtype
from keras_attn.ops.scores import grouped_matmul
from keras_attn.ops.scores import scaled
from keras_attn.ops.scores import tile_scores
from keras_attn.ops.softmax import masked_softmax


@dataclasses.dataclass(frozen=True)
class Part:
    """Some of the keys and values.

    Args:
        key, value: (batch, kv_heads, key, depth).
        positions: (batch or 1, key) integers.
        mask: Booleans, broadcastable to (batch, heads, query, key), or None
            if there is no other part.
        bias: Broadcastable likewise, or None.
    """

    key: tf.Tensor
    value: tf.Tensor
    positions: tf.Tensor
    mask: tf.Tensor | None = None
    bias: tf.Tensor | None = None


def attend_parts(
    rules: Rules,
    query,
    parts: list[Part],
    query_positions,
    *,
    parameters=(),
    dropout: float = 0.0,
    seed=None,
):
    """Attend to all parts at once, without laying them end to end.

        output = Σ softmax(scores of all parts)[part] value[part]

    Args:
        rules, parameters: As for `tile_scores`.
        query: (batch, heads, query, depth).
        parts: At least one.
        query_positions: (batch or 1, query) integers.
        dropout: Fraction of the weights dropped.
        seed: (2,) integers, if there is dropout.

    Returns:
        (batch, heads, query, depth) output in the dtype of the values, and
        the (batch, heads, query, keys of all parts) weights that made it.
    """
    query = scaled(query, rules)
    scored = [
        tile_scores(
            rules,
            query,
            part.key,
            query_positions,
            part.positions,
            bias=part.bias,
            mask=part.mask,
            parameters=parameters,
        )
        for part in parts
    ]
    scores, visible = (_end_to_end(each) for each in zip(*scored, strict=True))
    sinks = rules.sinks(parameters)
    if sinks is not None:
        sinks = tf.cast(sinks, scores.dtype)[:, None, None]
    weights = masked_softmax(scores, visible, sinks)
    if dropout:
        weights = seeded_dropout(weights, dropout, seed)
    output = _weighted_sum(weights, [part.value for part in parts])
    dtype = parts[0].value.dtype
    return tf.cast(output, dtype), tf.cast(weights, dtype)


def _end_to_end(tensors):
    return tensors[0] if len(tensors) == 1 else tf.concat(tensors, axis=-1)


def _weighted_sum(weights, values):
    dtype = accumulation_dtype(values[0].dtype)
    shares = [weights]
    if len(values) > 1:
        lengths = [tf.shape(value)[2] for value in values]
        shares = tf.split(weights, lengths, axis=-1, num=len(values))
    sums = [
        grouped_matmul(share, tf.cast(value, dtype), transpose_key=False)
        for share, value in zip(shares, values, strict=True)
    ]
    return sum(sums[1:], sums[0])
