"""Attention without the (query, key) matrix: memory linear in the length."""

import dataclasses

import tensorflow as tf

from keras_attn.ops import tiles
from keras_attn.ops.dropout import seeded_dropout
from keras_attn.ops.scores import Rules
from keras_attn.ops.scores import accumulation_dtype
from keras_attn.ops.scores import fold_groups
from keras_attn.ops.scores import grouped_matmul
from keras_attn.ops.scores import tile_scores
from keras_attn.ops.softmax import exclude

# Queries and keys of one tile.
TILE = (256, 512)

# Below any real score and above what hidden keys score, so that a row that
# has seen nothing yet weighs a hidden key as exp(-huge) = 0.
_LOWEST = -1e20


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
    parameters=(),
    dropout: float = 0.0,
    seed=None,
    tile: tuple[int, int] | None = None,
):
    """Attend tile by tile with an online softmax.

        m' = max(m, max scores)
        l' = l · exp(m - m') + Σ exp(scores - m')
        a' = a · exp(m - m') + Σ exp(scores - m') value
        output = a / l                   after the last key tile

    The backward pass recomputes each tile's weights as exp(scores - (m + log
    l)), so that nothing of the size (query, key) is ever kept.

    Args:
        rules, query, key, value, query_positions, key_positions, bias, mask,
            parameters, dropout, seed: As for `dense_attention`.
        tile: Queries and keys of one tile, at the most; `TILE` if not given.

    Returns:
        (batch, query, heads, depth) in the dtype of `value`.

    Reference:
        Milakov and Gimelshein 2018. https://arxiv.org/abs/1805.02867
        Dao 2023, algorithms 1 and 2. https://arxiv.org/abs/2307.08691
    """
    plan = _Plan.of(
        rules,
        query,
        key,
        query_positions,
        key_positions,
        mask,
        dropout,
        seed,
        tile or TILE,
    )
    given = ([] if bias is None else [bias], parameters)

    # Weights go in as arguments: a custom gradient may not capture variables.
    @tf.custom_gradient
    def attend(query, key, value, *flat):
        bias, parameters = tf.nest.pack_sequence_as(given, flat)
        bias = bias[0] if bias else None
        output, normalizer = _forward(plan, query, key, value, bias, parameters)

        def gradient(upstream):
            return _backward(
                plan,
                query,
                key,
                value,
                bias,
                parameters,
                output,
                normalizer,
                upstream,
            )

        return output, gradient

    return attend(query, key, value, *tf.nest.flatten(given))


@dataclasses.dataclass(frozen=True)
class _Plan:
    """Which tiles there are, and who may see whom."""

    rules: Rules
    query_length: object
    key_length: object
    query_tiles: tuple  # how many, and how long
    key_tiles: tuple
    query_positions: object  # (query count, batch or 1, query)
    key_positions: object  # (key count, batch or 1, key)
    mask: object  # a grid, or None
    real: object  # (key count, 1, 1, 1, key), or None if nothing is padded
    key_range: tuple  # first and past the last, each (query count,)
    query_range: tuple  # the same, each (key count,)
    dropout: float
    seed: object

    @classmethod
    def of(
        cls,
        rules,
        query,
        key,
        query_positions,
        key_positions,
        mask,
        dropout,
        seed,
        tile,
    ):
        query_length = tiles.length_of(query, 1)
        key_length = tiles.length_of(key, 1)
        query_tiles = tiles.tile_count(query_length, tile[0])
        key_tiles = tiles.tile_count(key_length, tile[1])
        query_positions = tiles.split_positions(query_positions, *query_tiles)
        key_positions = tiles.split_positions(key_positions, *key_tiles)
        if mask is not None:
            mask = tiles.split_grid(
                mask, query_length, query_tiles, key_length, key_tiles
            )
        count, size = key_tiles
        real = None
        if not (isinstance(key_length, int) and count * size == key_length):
            real = tf.range(count * size) < key_length
            real = tf.reshape(real, [count, 1, 1, 1, size])
        key_range, query_range = tiles.visible_ranges(
            query_positions,
            key_positions,
            causal=rules.causal,
            window=rules.window,
        )
        return cls(
            rules,
            query_length,
            key_length,
            query_tiles,
            key_tiles,
            query_positions,
            key_positions,
            mask,
            real,
            key_range,
            query_range,
            dropout,
            seed,
        )

    def split(self, query, key, value):
        """Cut the heads; each becomes (count, batch, heads, size, depth)."""
        return (
            tiles.split_heads(query, *self.query_tiles),
            tiles.split_heads(key, *self.key_tiles),
            tiles.split_heads(value, *self.key_tiles),
        )

    def split_bias(self, bias):
        """Cut the bias into a grid; None stays None."""
        if bias is None:
            return None
        return tiles.split_grid(
            bias,
            self.query_length,
            self.query_tiles,
            self.key_length,
            self.key_tiles,
        )

    def scores(self, row, column, query, key, bias, parameters):
        """Score one tile; hidden keys score very low."""
        scores, visible = tile_scores(
            self.rules,
            query,
            key,
            self.query_positions[row],
            self.key_positions[column],
            bias=bias,
            mask=tiles.pick_grid(self.mask, row, column),
            real=None if self.real is None else self.real[column],
            parameters=parameters,
        )
        return exclude(scores, visible)

    def drop(self, weights, row, column):
        """Drop weights, the same ones whenever this tile is visited."""
        if not self.dropout:
            return weights
        number = row * self.key_tiles[0] + column
        seed = tf.random.experimental.stateless_fold_in(self.seed, number)
        return seeded_dropout(weights, self.dropout, seed)


def _forward(plan, query, key, value, bias, parameters):
    """Return the output and the log-sum-exp of each row of scores."""
    dtype = accumulation_dtype(query.dtype)
    queries, keys, values = plan.split(query, key, value)
    biases = plan.split_bias(bias)
    sinks = plan.rules.sinks(parameters)
    count = plan.query_tiles[0]

    def attend(row, outputs, normalizers):
        query = tf.cast(queries[row], dtype)

        def look(column, highest, total, context):
            scores = plan.scores(
                row,
                column,
                query,
                tf.cast(keys[column], dtype),
                tiles.pick_grid(biases, row, column),
                parameters,
            )
            before = highest
            highest = tf.maximum(
                before, tf.reduce_max(scores, axis=-1, keepdims=True)
            )
            shrink = tf.exp(before - highest)
            weights = tf.exp(scores - highest)
            total = total * shrink
            total += tf.reduce_sum(weights, axis=-1, keepdims=True)
            context = context * shrink + grouped_matmul(
                plan.drop(weights, row, column),
                tf.cast(values[column], dtype),
                transpose_key=False,
            )
            return column + 1, highest, total, context

        total = tf.zeros_like(query[..., :1])  # (batch, heads, query, 1)
        highest = total + _LOWEST
        if sinks is not None:
            highest = total + tf.cast(sinks, dtype)[:, None, None]
            total += 1
        shape = [*tf.unstack(tf.shape(query))[:3], value.shape[3]]
        context = tf.zeros(shape, dtype)
        context.set_shape([*query.shape[:3], value.shape[3]])
        first, stop = (end[row] for end in plan.key_range)
        _, highest, total, context = tf.while_loop(
            lambda column, *_: column < stop,
            look,
            (first, highest, total, context),
            parallel_iterations=1,
        )
        seen = total > 0
        total = tf.where(seen, total, tf.ones_like(total))
        outputs = outputs.write(row, tf.cast(context / total, value.dtype))
        normalizers = normalizers.write(row, highest + tf.math.log(total))
        return row + 1, outputs, normalizers

    _, outputs, normalizers = tf.while_loop(
        lambda row, *_: row < count,
        attend,
        (
            0,
            tf.TensorArray(value.dtype, count),
            tf.TensorArray(dtype, count),
        ),
        parallel_iterations=1,
    )
    output = tiles.join_heads(outputs.stack(), plan.query_length)
    return output, normalizers.stack()


def _backward(
    plan,
    query,
    key,
    value,
    bias,
    parameters,
    output,
    normalizers,
    upstream,
):
    """Return the gradients of query, key, value, the bias and parameters."""
    dtype = accumulation_dtype(query.dtype)
    queries, keys, values = plan.split(query, key, value)
    biases = plan.split_bias(bias)
    upstreams = tiles.split_heads(upstream, *plan.query_tiles)
    # Σ weight · dweight over the keys of a row, without the weights.
    deltas = tf.cast(upstream, dtype) * tf.cast(output, dtype)
    deltas = tf.reduce_sum(deltas, axis=-1, keepdims=True)
    deltas = tiles.split_heads(deltas, *plan.query_tiles)
    flat = tf.nest.flatten(parameters)
    kv_heads = key.shape[2]

    def gather(column, d_queries, d_keys, d_values, d_biases, d_flat):
        key = tf.cast(keys[column], dtype)
        value = tf.cast(values[column], dtype)

        def look(row, d_queries, d_key, d_value, d_biases, d_flat):
            query = tf.cast(queries[row], dtype)
            upstream = tf.cast(upstreams[row], dtype)
            bias = tiles.pick_grid(biases, row, column)
            sources = [query, key, *flat] + ([] if bias is None else [bias])
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(sources)
                scores = plan.scores(row, column, query, key, bias, parameters)
            weights = tf.exp(scores - normalizers[row])
            ones = plan.drop(tf.ones_like(weights), row, column)
            d_weights = grouped_matmul(upstream, value)
            if plan.dropout:
                d_weights *= ones
            d_scores = weights * (d_weights - deltas[row])
            if plan.dropout:
                weights *= ones
            d_value += tf.matmul(
                fold_groups(weights, kv_heads),
                fold_groups(upstream, kv_heads),
                transpose_a=True,
            )
            d_query, d_key_here, *rest = tape.gradient(
                scores, sources, d_scores, unconnected_gradients="zero"
            )
            d_queries = tf.tensor_scatter_nd_add(
                d_queries, [[row]], d_query[None]
            )
            if bias is not None:
                place = tiles.grid_place(biases, row, column)
                d_biases = tf.tensor_scatter_nd_add(
                    d_biases, [place], tf.cast(rest.pop(), dtype)[None]
                )
            d_flat = [
                total + tf.convert_to_tensor(here)
                for total, here in zip(d_flat, rest, strict=True)
            ]
            return (
                row + 1,
                d_queries,
                d_key + d_key_here,
                d_value,
                d_biases,
                d_flat,
            )

        first, stop = (end[column] for end in plan.query_range)
        _, d_queries, d_key, d_value, d_biases, d_flat = tf.while_loop(
            lambda row, *_: row < stop,
            look,
            (
                first,
                d_queries,
                tf.zeros_like(key),
                tf.zeros_like(value),
                d_biases,
                d_flat,
            ),
            parallel_iterations=1,
        )
        return (
            column + 1,
            d_queries,
            d_keys.write(column, d_key),
            d_values.write(column, d_value),
            d_biases,
            d_flat,
        )

    count = plan.key_tiles[0]
    _, d_queries, d_keys, d_values, d_biases, d_flat = tf.while_loop(
        lambda column, *_: column < count,
        gather,
        (
            0,
            tf.zeros_like(queries, dtype),
            tf.TensorArray(dtype, count),
            tf.TensorArray(dtype, count),
            () if bias is None else tf.zeros_like(biases, dtype),
            [tf.zeros_like(parameter) for parameter in flat],
        ),
        parallel_iterations=1,
    )
    d_query = tiles.join_heads(d_queries, plan.query_length)
    d_key = tiles.join_heads(d_keys.stack(), plan.key_length)
    d_value = tiles.join_heads(d_values.stack(), plan.key_length)
    d_bias = (
        []
        if bias is None
        else [tf.cast(tiles.join_grid(d_biases, bias), bias.dtype)]
    )
    return (
        tf.cast(d_query, query.dtype),
        tf.cast(d_key, key.dtype),
        tf.cast(d_value, value.dtype),
        *d_bias,
        *d_flat,
    )
