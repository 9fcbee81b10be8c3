"""Attention without the (query, key) matrix: memory linear in the length."""

import tensorflow as tf

from keras_attn.ops import masks
from keras_attn.ops.recompute import not_before
from keras_attn.ops.scores import Rules
from keras_attn.ops.scores import accumulation_dtype
from keras_attn.ops.scores import fold_groups
from keras_attn.ops.scores import grouped_matmul
from keras_attn.ops.scores import scaled
from keras_attn.ops.tiling import tiles
from keras_attn.ops.tiling.grid import pick
from keras_attn.ops.tiling.plan import Plan

# Queries and keys of one tile. Measured on CPUs: longer tiles outgrow the
# caches, shorter ones leave the products too small to be quick.
TILE = (512, 256)

# Tiles under way at once where none waits for another: the small steps of one
# fill the gaps between the products of the others. Each takes memory.
_IN_FLIGHT = 4

# The log-sum-exp of nothing. Below any real score and above what hidden keys
# score, so that they weigh exp(-huge) = 0 beside it.
_NOTHING = -1e20


def tiled_attention(
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
    tile: tuple[int, int] | None = None,
):
    """Attend tile by tile, and merge what the tiles bring by their weight.

        n      = log Σ exp(score)               of one key tile
        total' = log(exp(total) + exp(n))
        output' = output · exp(total - total')
                  + softmax(score) value · exp(n - total')

    The backward pass recomputes the weights of a tile as exp(score - total),
    so that nothing of the size (query, key) is ever kept.

    Args:
        rules, query, key, value, query_positions, key_positions, bias, mask,
            query_mask, segments, parameters, dropout, seed: As for
            `dense_attention`.
        tile: Queries and keys of one tile, at the most; `TILE` if not given.

    Returns:
        (batch, query, heads, depth) in the dtype of `value`.

    Reference:
        Milakov and Gimelshein 2018. https://arxiv.org/abs/1805.02867
        Dao 2023, algorithms 1 and 2. https://arxiv.org/abs/2307.08691
    """
    plan = Plan(
        rules,
        query,
        key,
        query_positions,
        key_positions,
        mask=mask,
        segments=segments,
        dropout=dropout,
        seed=seed,
        tile=tile or TILE,
    )
    given = ([] if bias is None else [bias], parameters)

    # Weights go in as arguments: a custom gradient may not capture variables.
    @tf.custom_gradient
    def attend(query, key, value, *flat):
        bias, parameters = tf.nest.pack_sequence_as(given, flat)
        others = bias[0] if bias else None, parameters
        output, normalizers = _forward(plan, query, key, value, *others)
        # In here, so that the gradient keeps one output instead of two.
        output = masks.zero_padding(output, query_mask)

        def gradient(upstream):
            upstream = masks.zero_padding(upstream, query_mask)
            late = not_before(upstream, query, key, value)
            made = output, normalizers, upstream
            return _backward(plan, *late, *others, *made)

        return output, gradient

    return attend(query, key, value, *tf.nest.flatten(given))


def _forward(plan, query, key, value, bias, parameters):
    """Return the output, and log Σ exp(score) of each query in its tile."""
    dtype = accumulation_dtype(query.dtype)
    queries = plan.split_queries(scaled(query, plan.rules))
    keys, values = plan.split_keys(key), plan.split_keys(value)
    biases = None if bias is None else plan.cut(bias)
    sinks = plan.rules.sinks(parameters)
    count = plan.query_tiles[0]

    def attend(row, outputs, normalizers):
        query = queries[row]

        def attend(column, output, normalizer):
            scores = plan.scores(
                row,
                column,
                query,
                tf.cast(keys[column], dtype),
                pick(biases, row, column),
                parameters,
            )
            weights = tf.nn.softmax(scores)
            # The highest score weighs 1 / Σ exp(score - highest): reading it
            # back is cheaper than a second pass of exponentials.
            highest = tf.reduce_max(scores, axis=-1, keepdims=True)
            heaviest = tf.reduce_max(weights, axis=-1, keepdims=True)
            here = highest - tf.math.log(heaviest)
            seen = grouped_matmul(
                plan.drop(weights, row, column),
                tf.cast(values[column], dtype),
                transpose_key=False,
            )  # (batch, heads, query, depth)
            both = _log_add_exp(normalizer, here)
            output *= tf.exp(normalizer - both)
            output += tf.exp(here - both) * seen
            return column + 1, output, both

        normalizer = tf.zeros_like(query[..., :1])  # (batch, heads, query, 1)
        output = normalizer * tf.zeros([value.shape[3]], dtype)
        if sinks is None:
            normalizer += _NOTHING
        else:
            normalizer += tf.cast(sinks, dtype)[:, None, None]
        first, stop = (end[row] for end in plan.key_range)
        _, output, normalizer = tf.while_loop(
            lambda column, *_: column < stop,
            attend,
            (first, output, normalizer),
            parallel_iterations=1,
        )
        outputs = outputs.write(row, tf.cast(output, value.dtype))
        return row + 1, outputs, normalizers.write(row, normalizer)

    _, outputs, normalizers = tf.while_loop(
        lambda row, *_: row < count,
        attend,
        (0, tf.TensorArray(value.dtype, count), tf.TensorArray(dtype, count)),
        parallel_iterations=_IN_FLIGHT,
    )
    output = tiles.join_heads(outputs.stack(), plan.query_length)
    return output, normalizers.stack()


def _backward(
    plan, query, key, value, bias, parameters, output, normalizers, upstream
):
    """Return the gradients of query, key, value, bias and parameters."""
    dtype = accumulation_dtype(query.dtype)
    queries = plan.split_queries(scaled(query, plan.rules))
    keys, values = plan.split_keys(key), plan.split_keys(value)
    biases = None if bias is None else plan.cut(bias)
    upstreams = plan.split_queries(upstream)
    # Σ weight · d_weight over the keys of a row, without the weights.
    deltas = tf.cast(upstream, dtype) * tf.cast(output, dtype)
    deltas = tf.reduce_sum(deltas, axis=-1, keepdims=True)
    deltas = plan.split_queries(deltas)
    flat = tf.nest.flatten(parameters)
    kv_heads = key.shape[2]

    def gather(column, d_queries, d_keys, d_values, d_biases, d_flat):
        key = tf.cast(keys[column], dtype)
        value = tf.cast(values[column], dtype)

        def attend(row, d_queries, d_key, d_value, d_biases, d_flat):
            query = queries[row]
            upstream = tf.cast(upstreams[row], dtype)
            bias = pick(biases, row, column)
            sources = [query, key, flat, [] if bias is None else [bias]]
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(sources)
                scores = plan.scores(row, column, query, key, bias, parameters)
            weights = tf.exp(scores - normalizers[row])
            d_weights = grouped_matmul(upstream, value)
            kept = weights
            if plan.dropout:
                keep = plan.drop(tf.ones_like(weights), row, column)
                kept, d_weights = weights * keep, d_weights * keep
            d_value += tf.matmul(
                fold_groups(kept, kv_heads),
                fold_groups(upstream, kv_heads),
                transpose_a=True,
            )
            d_query, d_key_here, d_flat_here, d_bias = tape.gradient(
                scores,
                sources,
                weights * (d_weights - deltas[row]),
                unconnected_gradients=tf.UnconnectedGradients.ZERO,
            )
            d_queries = d_queries.write(row, d_queries.read(row) + d_query)
            if d_bias:
                number = biases.number(row, column)
                d_here = d_biases.read(number) + tf.cast(d_bias[0], dtype)
                d_biases = d_biases.write(number, d_here)
            d_flat = [
                total + tf.convert_to_tensor(here)
                for total, here in zip(d_flat, d_flat_here, strict=True)
            ]
            d_key += d_key_here
            return row + 1, d_queries, d_key, d_value, d_biases, d_flat

        first, stop = (end[column] for end in plan.query_range)
        zeros = tf.zeros_like(key), tf.zeros_like(value)
        _, d_queries, d_key, d_value, d_biases, d_flat = tf.while_loop(
            lambda row, *_: row < stop,
            attend,
            (first, d_queries, *zeros, d_biases, d_flat),
            parallel_iterations=_IN_FLIGHT,
        )
        d_keys = d_keys.write(column, d_key)
        d_values = d_values.write(column, d_value)
        return column + 1, d_queries, d_keys, d_values, d_biases, d_flat

    count = plan.key_tiles[0]
    _, d_queries, d_keys, d_values, d_biases, d_flat = tf.while_loop(
        lambda column, *_: column < count,
        gather,
        (
            0,
            _zero_tiles(queries, dtype),
            tf.TensorArray(dtype, count),
            tf.TensorArray(dtype, count),
            [] if bias is None else _zero_tiles(biases.tiles, dtype),
            _sink_gradients(plan, flat, parameters, normalizers, deltas),
        ),
        parallel_iterations=1,
    )
    d_query = tiles.join_heads(d_queries.stack(), plan.query_length)
    d_query *= tf.constant(plan.rules.scale, dtype)
    d_key = tiles.join_heads(d_keys.stack(), plan.key_length)
    d_value = tiles.join_heads(d_values.stack(), plan.key_length)
    d_bias = [] if bias is None else [biases.join(d_biases.stack(), bias)]
    given = query, key, value, *([] if bias is None else [bias])
    found = d_query, d_key, d_value, *d_bias
    return *(
        tf.cast(gradient, x.dtype)
        for gradient, x in zip(found, given, strict=True)
    ), *d_flat


def _zero_tiles(like, dtype):
    """An array of zeros, a tile each, that is added to tile by tile."""
    array = tf.TensorArray(
        dtype,
        tiles.length_of(like, 0),
        element_shape=like.shape[1:],
        clear_after_read=False,
    )
    return array.unstack(tf.zeros_like(like, dtype))


def _sink_gradients(plan, flat, parameters, normalizers, deltas):
    """Gradients of the parameters that came through the sinks.

    d_sink = - Σ exp(sink - n) · delta       over the queries
    """
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(flat)
        sinks = plan.rules.sinks(parameters)
    if sinks is None:
        return [tf.zeros_like(parameter) for parameter in flat]
    logits = tf.cast(sinks, normalizers.dtype)[:, None, None]
    weights = tf.exp(logits - normalizers)  # (count, batch, heads, query, 1)
    d_sinks = -tf.reduce_sum(weights * deltas, axis=[0, 1, 3, 4])
    return tape.gradient(
        sinks,
        flat,
        tf.cast(d_sinks, sinks.dtype),
        unconnected_gradients=tf.UnconnectedGradients.ZERO,
    )


def _log_add_exp(one, other):
    return tf.maximum(one, other) + tf.math.softplus(-tf.abs(one - other))
