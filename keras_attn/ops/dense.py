"""Attention that forms the whole matrix of scores: softmax(Q Kᵀ) V."""

import dataclasses

import tensorflow as tf

from keras_attn.ops import masks
from keras_attn.ops.dropout import seeded_dropout
from keras_attn.ops.recompute import recomputed
from keras_attn.ops.scores import Rules
from keras_attn.ops.scores import accumulation_dtype
from keras_attn.ops.scores import grouped_matmul
from keras_attn.ops.scores import scaled
from keras_attn.ops.scores import tile_scores
from keras_attn.ops.softmax import masked_softmax


@dataclasses.dataclass(frozen=True)
class KeyValueBlock:
    """Keys and values that lie in one place, such as a cache.

    Args:
        key, value: (batch, kv_heads, key, depth).
        positions: (batch or 1, key) integers.
        mask: Booleans, broadcastable to (batch, heads, query, key), or None;
            all blocks of one attention have one, or none has.
        bias: Broadcastable likewise, or None.
    """

    key: tf.Tensor
    value: tf.Tensor
    positions: tf.Tensor
    mask: tf.Tensor | None = None
    bias: tf.Tensor | None = None


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
    output, weights = block_attention(
        rules,
        query,
        [KeyValueBlock(key, value, key_positions, mask, bias)],
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


def lean_attention(
    rules: Rules,
    query,
    key,
    value,
    query_positions,
    key_positions,
    *,
    bias=None,
    parameters=(),
    **options,
):
    """Attend densely; the gradient makes the weights again.

    Costs a product and a softmax more, and saves the largest tensor of a
    layer, which has as many numbers for each query as there are keys.

    Args: as for `dense_attention`.

    Returns:
        (batch, query, heads, depth) in the dtype of `value`.
    """
    given = ([] if bias is None else [bias], parameters)

    def attend(query, key, value, *flat):
        bias, parameters = tf.nest.pack_sequence_as(given, flat)
        output, _ = dense_attention(
            rules,
            *(query, key, value, query_positions, key_positions),
            bias=bias[0] if bias else None,
            parameters=parameters,
            **options,
        )
        return output

    # Weights go in as arguments: a custom gradient may not capture variables.
    flat = map(tf.convert_to_tensor, tf.nest.flatten(given))
    return recomputed(attend)(query, key, value, *flat)


def block_attention(
    rules: Rules,
    query,
    blocks: list[KeyValueBlock],
    query_positions,
    *,
    exclusion=None,
    parameters=(),
    dropout: float = 0.0,
    seed=None,
):
    """Attend to several blocks of keys as to one, without joining them.

        output = Σ softmax(scores of all blocks)[block] value[block]

    Args:
        rules, parameters: As for `tile_scores`.
        query: (batch, heads, query, depth).
        blocks: At least one.
        query_positions: (batch or 1, query) integers.
        exclusion: In place of masks, what `softmax.exclusion` makes of one for
            the keys of all blocks: many layers can share it. Each query must
            see a key.
        dropout: Fraction of the weights dropped.
        seed: (2,) integers, if there is dropout.

    Returns:
        (batch, heads, query, depth) output in the dtype of the values, and
        the (batch, heads, query, keys of all blocks) weights that made it.
    """
    query = scaled(query, rules)
    scored = [
        tile_scores(
            rules,
            query,
            block.key,
            query_positions,
            block.positions,
            bias=block.bias,
            mask=block.mask,
            parameters=parameters,
        )
        for block in blocks
    ]
    scores, visible = scored[0]
    if len(blocks) > 1:
        every_scores, every_visible = zip(*scored, strict=True)
        scores = tf.concat(every_scores, axis=-1)
        if visible is not None:
            visible = tf.concat(every_visible, axis=-1)
    if exclusion is not None:
        scores += exclusion
    sinks = rules.sinks(parameters) if rules.modifiers else None
    if sinks is not None:
        sinks = tf.cast(sinks, scores.dtype)[:, None, None]
    values = [block.value for block in blocks]
    dtype = values[0].dtype
    weights = softmax_weights(
        scores, dtype, mask=visible, sinks=sinks, dropout=dropout, seed=seed
    )
    output = _weighted_sum(weights, values)
    return tf.cast(output, dtype), tf.cast(weights, dtype)


def softmax_weights(
    scores,
    dtype,
    *,
    mask=None,
    sinks=None,
    gain=None,
    dropout: float = 0.0,
    seed=None,
):
    """Turn scores into weights.

        weights = softmax(scores) · gain

    Args:
        scores: (..., query, key).
        dtype: Of the values that are to be weighed.
        mask, sinks: As for `masked_softmax`.
        gain: What the weights are multiplied by, broadcastable to them; None
            for 1.
        dropout: Fraction of the weights dropped.
        seed: (2,) integers, if there is dropout.

    Returns:
        (..., query, key), in the dtype that values are to be summed in.
    """
    weights = masked_softmax(scores, mask, sinks)
    weights = tf.cast(weights, accumulation_dtype(dtype))
    if gain is not None:
        weights *= tf.cast(gain, weights.dtype)
    if dropout:
        weights = seeded_dropout(weights, dropout, seed)
    return weights


def _weighted_sum(weights, values):
    shares = [weights]
    if len(values) > 1:
        lengths = [value.shape[2] for value in values]
        if lengths.count(None) > 1:
            lengths = [tf.shape(value)[2] for value in values]
        # One that is not known follows from the others, without an op.
        lengths = [-1 if length is None else length for length in lengths]
        shares = tf.split(weights, lengths, axis=-1, num=len(values))
    sums = [
        grouped_matmul(share, tf.cast(value, share.dtype), transpose_key=False)
        for share, value in zip(shares, values, strict=True)
    ]
    return sum(sums[1:], sums[0])
