"""Zeros in place of padding, before anything is computed from it."""

from keras_attn.ops import masks


def without_padding(
    query, value, key, *, query_mask=None, value_mask=None, key_mask=None
):
    """Put zeros where the inputs of an attention layer are padding.

        x(t) = x(t) if mask(t) else 0

    so that nothing which stands there, NaN and infinity included, reaches an
    output or a gradient: that of a projection is x · dy, and NaN · 0 is NaN.
    What was one tensor under one mask stays one, so that it can be projected
    in one product.

    Args:
        query: (batch, query, ..., features).
        value, key: (batch, key, ..., features).
        query_mask: (batch, query), or with more axes of positions; or None.
        value_mask, key_mask: (batch, key) likewise. What either hides is
            hidden as a key and as a value.

    Returns:
        The query, the value and the key.
    """
    hiding = {"value_mask": value_mask, "key_mask": key_mask}
    if key_mask is value_mask:
        del hiding["key_mask"]
    made = {}

    def clear(x, named):
        named = {name: mask for name, mask in named.items() if mask is not None}
        which = id(x), *map(id, named.values())
        if which not in made:
            for name, mask in named.items():
                x = masks.zero_padding(x, mask, name)
            made[which] = x
        return made[which]

    return (
        clear(query, {"query_mask": query_mask}),
        clear(value, hiding),
        clear(key, hiding),
    )
