"""Where a step of decoding stands, worked out once for all layers."""

import dataclasses

import tensorflow as tf

from keras_attn.ops import masks
from keras_attn.ops.cache import CacheIndex
from keras_attn.ops.scores import accumulation_dtype
from keras_attn.ops.softmax import exclusion


@dataclasses.dataclass(frozen=True)
class StepIndex:
    """Which slot a step writes to, and which keys it sees.

    Layers with the same window share one: it depends on positions alone.

    Args:
        query_positions: (rows, 1) integers.
        key_positions: (rows, keys) integers for each block of keys: those of
            the prompt, if there is one, and those of the cache.
        newest: (rows, 1, slots, 1) booleans: the slot of the newest token.
        exclusion: (rows, 1, 1, keys of all blocks) floats, for
            `block_attention`. NaN in rows for which the cache has no slot.
    """

    query_positions: tf.Tensor
    key_positions: list
    newest: tf.Tensor
    exclusion: tf.Tensor


def make_step_index(
    cache_index: CacheIndex,
    prompt_index: CacheIndex | None,
    *,
    window: int | None,
    dtype,
    message: str,
) -> StepIndex:
    """Work out what the layers of a step have in common.

    Args:
        cache_index: Of the cache that the step writes to.
        prompt_index: Of what the prompt has left, if there is one.
        window: Keys this many positions away, or more, are hidden.
        dtype: What the layers compute in.
        message: What to say if the cache has no slot for the newest token.

    Returns:
        The `StepIndex`.

    Raises:
        ValueError: If positions are known, and a row's is past the end. A
            graph finds out when it runs, and a compiled one cannot fail:
            there the row's scores become NaN, and with them its output.
    """
    indexes = [] if prompt_index is None else [prompt_index]
    key_positions = [x.key_positions() for x in (*indexes, cache_index)]
    query_positions = cache_index.positions[:, None]
    visible = []
    for positions in key_positions:
        near = masks.by_position(
            query_positions, positions, causal=False, window=window
        )
        filled = (positions >= 0)[:, None]  # (rows, 1, keys)
        visible.append(filled if near is None else filled & near)
    visible = visible[0] if len(visible) == 1 else tf.concat(visible, axis=-1)
    hidden = exclusion(visible[:, None], accumulation_dtype(dtype))
    return StepIndex(
        query_positions,
        key_positions,
        cache_index.is_newest(),
        _refuse_past_the_end(hidden, cache_index, message),
    )


def _refuse_past_the_end(hidden, cache_index, message):
    if cache_index.rolls:
        return hidden
    past = cache_index.positions - cache_index.first >= cache_index.num_slots
    known = tf.get_static_value(past)
    if known is None:
        nan = tf.constant(float("nan"), hidden.dtype)
        return tf.where(past[:, None, None, None], nan, hidden)
    if known.any():
        position = tf.get_static_value(cache_index.positions)[known][0]
        raise ValueError(f"{message} Received: position {position}")
    return hidden
