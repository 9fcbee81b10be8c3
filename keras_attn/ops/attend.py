"""The one door to attention: check what came, then choose how to do it."""

import contextlib
import contextvars
import functools
import math

import keras
import tensorflow as tf
from keras import ops

from keras_attn.ops import checks
from keras_attn.ops import masks
from keras_attn.ops.dense import dense_attention
from keras_attn.ops.dense import lean_attention
from keras_attn.ops.fused.fused import fused_attention
from keras_attn.ops.fused.fused import reason_against
from keras_attn.ops.fused.target import has_kernel
from keras_attn.ops.fused.target import is_preferred
from keras_attn.ops.fused.target import kernel_target
from keras_attn.ops.scores import Rules
from keras_attn.ops.tiling.tiled import tiled_attention

# Up to this many scores a head, forming the matrix is quicker than going
# through it in tiles; from 1024 · 1024 on it is not, and takes more memory.
_DENSE_SCORES = 512 * 1024

# Up to this many weights of all heads and rows are kept for the gradient, which
# is quicker; more, 32 MB in float32, would be most of what a layer keeps, and
# are made again. A batch of unknown size counts as one of 16.
_KEPT_WEIGHTS = 2**23
_USUAL_BATCH = 16

# With this few queries or keys the matrix is as good as a vector.
_DENSE_LENGTH = 64

# Queries and keys of a tile on chips, by what their compilers say of one of 8
# rows with 8 heads, forward and backward (`python -m benchmarks.tiles`). A v5e
# moves 41 bytes for each score where a CPU's tile has it move 45, and still
# holds the tile itself; an A100 or H100 moves 64, not 72. Longer tiles move little
# less, and need memory in proportion.
CHIP_TILES = {"tpu": (512, 512), "gpu": (1024, 512)}

_longest = contextvars.ContextVar("longest", default=None)


@contextlib.contextmanager
def lengths_at_most(longest: int | None):
    """Tell attention how long a sequence of unknown length can be.

        with lengths_at_most(512): graph = tf.function(…).get_concrete_…()

    Within it, "auto" chooses as if unknown lengths were the longest. The graph
    of a dense matrix is smaller than that of tiles, so it loads sooner.

    Args:
        longest: The most positions of any sequence; None if nobody knows.
    """
    token = _longest.set(longest)
    try:
        yield
    finally:
        _longest.reset(token)


def attention(
    query,
    key,
    value,
    *,
    mask=None,
    query_mask=None,
    bias=None,
    causal: bool = False,
    window: int | None = None,
    modifiers=(),
    scale: float | None = None,
    query_positions=None,
    key_positions=None,
    dropout: float = 0.0,
    seed=None,
    return_weights: bool = False,
    implementation: str = "auto",
    segments=None,
    padding_is_finite: bool = False,
):
    """Let every query attend to the keys: a weighted mean of the values.

        score(q, k) = cap(scale · q · k) + bias
        output(q)   = Σ softmax(score(q, k)) value(k)    over the visible keys

    Scores and sums are in float32 whatever the inputs are. "dense" forms the
    (query, key) matrix, and forms it again in the gradient if it is large;
    "tiled" never does, so that memory is linear in the length; "fused" is the
    TPU's own kernel, and "tiled" elsewhere and for what
    `ops.fused.fused.reason_against` lists. They agree to rounding. "auto" is
    dense if weights are asked for, if a length is at most 64, or if query · key
    is at most 512 · 1024; otherwise, and where lengths are unknown, fused on a
    TPU with the extra `tpu` installed, and tiled.

    Args:
        query: (batch, query, heads, depth).
        key: (batch, key, kv_heads, depth); `kv_heads` divides `heads`.
        value: (batch, key, kv_heads, value_depth).
        mask: Booleans broadcastable to (batch, heads, query, key); True means
            "may be seen". With axes (batch, 1, 1, key) it is padding: what
            stands there, NaN included, is as good as 0. A key that only some
            queries may not see must be finite.
        query_mask: (batch, query) booleans, False for queries that are
            padding: they get exactly 0, and may be NaN.
        bias: Added to the scores, broadcastable likewise; -inf hides.
        causal: Whether keys at later positions are hidden.
        window: Keys this many positions away, or more, are hidden.
        modifiers: Layers of `keras_attn.modifiers`.
        scale: What the products are multiplied by; 1/√depth if not given.
        query_positions, key_positions: (batch or 1, length) integers. Without
            them keys count from 0, and the last query stands at the last key.
        dropout: Fraction of the weights dropped.
        seed: An integer, (2,) integers or a `keras.random.SeedGenerator`.
        return_weights: Whether to return the weights that made the output.
        implementation: "auto", "dense", "tiled" or "fused".
        segments: (batch, length) integers of queries and keys, or a tuple of
            two: a query sees keys of its own segment only. Segment 0 is
            padding, of queries as well. For documents packed into a row.
        padding_is_finite: Whether padding is known to hold no NaN, as in
            layers that have put zeros there: saves a pass over each input.

    Returns:
        (batch, query, heads, value_depth), then (batch, heads, query, key) if
        asked for. A query that may see nothing gets exactly 0.

    Reference:
        Vaswani et al. 2017, section 3.2. https://arxiv.org/abs/1706.03762
    """
    query, key, value = (ops.convert_to_tensor(x) for x in (query, key, value))
    checks.heads(query, key, value)
    checks.options(window, scale, dropout, implementation, return_weights)
    modifiers = checks.modifiers(modifiers)
    dtype = keras.backend.result_type(query.dtype, key.dtype, value.dtype)
    query, key, value = (ops.cast(x, dtype) for x in (query, key, value))
    mask = checks.grid(masks.as_boolean(mask), "mask", query, key)
    bias = checks.grid(bias, "bias", query, key)
    query_positions, key_positions = _positions(
        query, key, query_positions, key_positions
    )

    real = None  # (batch, key)
    if mask is not None and mask.shape[1] == mask.shape[2] == 1:
        real = mask[:, 0, 0]
    if segments is not None:
        segments = checks.segments(segments, query, key)
        real_queries, real_keys = (each != 0 for each in segments)
        query_mask = masks.as_boolean(query_mask, "query_mask")
        query_mask = masks.combine(query_mask, real_queries)
        real = masks.combine(real, real_keys)
    if not padding_is_finite:
        # A weight of 0 would not keep out what is not a number.
        query = masks.zero_padding(query, query_mask)
        key = masks.zero_padding(key, real, "mask")
        value = masks.zero_padding(value, real, "mask")

    for modifier in modifiers:
        modifier.prepare(tuple(query.shape), tuple(key.shape))
    for modifier in modifiers:
        query = modifier.query_heads(query, query_positions)
        key = modifier.key_heads(key, key_positions)
    if implementation == "auto":
        implementation = _choose(query.shape[1], key.shape[1], return_weights)

    rules = Rules(
        scale=1 / math.sqrt(query.shape[3]) if scale is None else scale,
        causal=causal,
        window=window,
        modifiers=modifiers,
    )
    heads = query, key, value, query_positions, key_positions
    if implementation == "fused" and has_kernel():
        positions = {
            "query_positions": query_positions,
            "key_positions": key_positions,
        }
        if not reason_against(
            rules,
            query,
            key,
            **positions,
            bias=bias,
            mask=mask,
            dropout=dropout,
        ):
            return fused_attention(
                rules,
                *heads,
                mask=mask,
                query_mask=query_mask,
                segments=segments,
                parameters=_parameters(modifiers),
            )
    attend = functools.partial(
        tiled_attention, tile=CHIP_TILES.get(kernel_target())
    )
    if implementation == "dense":
        keeps = return_weights or _are_few_weights(query.shape, key.shape[1])
        attend = dense_attention if keeps else lean_attention
    output = attend(
        rules,
        *heads,
        bias=bias,
        mask=mask,
        query_mask=query_mask,
        segments=segments,
        parameters=_parameters(modifiers),
        dropout=dropout,
        seed=_seed_pair(seed) if dropout else None,
    )
    if attend is dense_attention and not return_weights:
        return output[0]
    return output


def _parameters(modifiers):
    return tuple(modifier.parameters() for modifier in modifiers)


def _positions(query, key, query_positions, key_positions):
    """Fill in the positions that were not given."""
    query_length, key_length = ops.shape(query)[1], ops.shape(key)[1]
    if key_positions is not None:
        key_positions = checks.positions(key_positions, "key_positions", key)
    if query_positions is not None:
        query_positions = checks.positions(
            query_positions, "query_positions", query
        )
    # The last query stands at the last key, wherever that is.
    elif key_positions is None:
        query_positions = masks.consecutive(
            key_length - query_length, key_length
        )
    else:
        steps = masks.consecutive(1 - query_length, 1)
        query_positions = key_positions[:, -1:] + steps
    if key_positions is None:
        key_positions = masks.consecutive(0, key_length)
    return query_positions, key_positions


def _choose(query_length, key_length, return_weights):
    """Pick by size; lengths that are unknown may turn out long."""
    if return_weights:
        return "dense"
    lengths = (
        _longest.get() if length is None else length
        for length in (query_length, key_length)
    )
    known = [length for length in lengths if length is not None]
    if known and min(known) <= _DENSE_LENGTH:
        return "dense"
    if len(known) == 2 and math.prod(known) <= _DENSE_SCORES:
        return "dense"
    return "fused" if is_preferred() else "tiled"


def _are_few_weights(query_shape, key_length):
    """Whether they may be kept; those of lengths that are unknown may."""
    batch, query_length, heads, _ = query_shape
    if query_length is None or key_length is None:
        return True
    if min(query_length, key_length) <= _DENSE_LENGTH:
        return True
    rows = _USUAL_BATCH if batch is None else batch
    return rows * heads * query_length * key_length <= _KEPT_WEIGHTS


def _seed_pair(seed):
    """Make (2,) int32 out of any of Keras' kinds of seed."""
    if seed is None:
        return tf.random.uniform([2], maxval=tf.int32.max, dtype=tf.int32)
    if isinstance(seed, int):
        return tf.constant([0, seed])
    if isinstance(seed, keras.random.SeedGenerator):
        seed = seed.next()
    return tf.cast(seed, tf.int32)
