"""The attention core for a single head."""

from keras import ops

from keras_attn.ops import masks
from keras_attn.ops.attend import attention
from keras_attn.ops.dense import softmax_weights
from keras_attn.ops.loop_invariant import shared_product


def one_head_attention(
    query,
    key,
    value,
    *,
    mask=None,
    causal: bool = False,
    query_positions=None,
    key_positions=None,
    **options,
):
    """Attend with dot products, without an axis for heads.

        output = softmax(scale · query · key) value

    What stands at padding must be finite, as layers see to.

    Args:
        query: (batch, query, depth).
        key: (batch, key, depth).
        value: (batch, key, features).
        mask: Booleans of rank 3, broadcastable to (batch, query, key).
        causal: Whether query i sees keys 0 to i only.
        query_positions, key_positions: (batch or 1, length) integers; from
            the start of each sequence if not given.
        options: `scale`, `dropout`, `seed`, `return_weights`: as for
            `ops.attention`.

    Returns:
        (batch, query, features), and (batch, query, key) weights or None.
    """
    outcome = attention(
        query[:, :, None],
        key[:, :, None],
        value[:, :, None],  # (batch, key, heads = 1, features)
        mask=None if mask is None else mask[:, None],
        causal=causal,
        query_positions=(
            masks.from_start(query)
            if query_positions is None
            else query_positions
        ),
        key_positions=(
            masks.from_start(key) if key_positions is None else key_positions
        ),
        padding_is_finite=True,
        **options,
    )
    if options.get("return_weights"):
        output, weights = outcome
        return output[:, :, 0], weights[:, 0]
    return outcome[:, :, 0], None


def one_head_average(
    scores,
    value,
    *,
    mask=None,
    gain=None,
    causal: bool = False,
    query_positions=None,
    key_positions=None,
    dropout: float = 0.0,
    seed=None,
    return_weights: bool = True,
):
    """Average values by scores of any kind, without an axis for heads.

        output = (softmax(scores) · gain) value

    Args:
        scores: (batch, query, key).
        value: (batch, key, features).
        mask: Booleans broadcastable to the scores, or None.
        gain: Broadcastable likewise, or None for 1.
        causal: Whether keys at later positions are hidden.
        query_positions, key_positions: (batch or 1, length) numbers, needed
            if it is causal.
        dropout, seed: As for `softmax_weights`.
        return_weights: Makes no difference: they are formed in any case.

    Returns:
        (batch, query, features), and the (batch, query, key) weights.
    """
    if causal:
        visible = masks.by_position(
            query_positions, key_positions, causal=True, window=None
        )
        mask = masks.combine(mask, visible)
    weights = softmax_weights(
        scores, value.dtype, mask=mask, gain=gain, dropout=dropout, seed=seed
    )
    output = shared_product(weights, ops.cast(value, weights.dtype))
    dtype = value.dtype
    return ops.cast(output, dtype), ops.cast(weights, dtype)
