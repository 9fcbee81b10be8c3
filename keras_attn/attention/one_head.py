"""The attention core for a single head."""

from keras_attn.ops import masks
from keras_attn.ops.attend import attention


def one_head_attention(
    query, key, value, *, mask=None, causal: bool = False, **options
):
    """Attend with dot products, without an axis for heads.

        output = softmax(scale · query · key) value

    What stands at padding must be finite, as layers see to.

    Args:
        query: (batch, query, depth).
        key: (batch, key, depth).
        value: (batch, key, features).
        mask: Booleans of rank 3, broadcastable to (batch, query, key).
        causal: Whether query i sees keys 0 to i only, both counted from the
            start of their sequence.
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
        query_positions=masks.from_start(query),
        key_positions=masks.from_start(key),
        padding_is_finite=True,
        **options,
    )
    if options.get("return_weights"):
        output, weights = outcome
        return output[:, :, 0], weights[:, 0]
    return outcome[:, :, 0], None
