"""A memory: keys and values projected once, to be attended to many times."""

from keras import ops

from keras_attn.ops import masks


def clean_memory(layer, value, key=None, mask=None):
    """Take what a layer is about to project, with zeros where it is padding.

    Args:
        layer: An attention layer, which must have been built.
        value: (batch, key, value_features).
        key: (batch, key, key_features); `value` if not given.
        mask: (batch, key) booleans, False for padding; or None.

    Returns:
        The value and the key, in the layer's compute dtype, and the mask.

    Raises:
        ValueError: If the layer has no weights yet.
    """
    if not layer.built:
        raise ValueError(
            "`project_memory` needs the layer's weights, whose shapes depend "
            f"on the query as well. Received: {type(layer).__name__}, not "
            "built. Call it once, or layer.build(query_shape, value_shape)."
        )
    mask = masks.as_boolean(mask)
    value_is_key = key is None or key is value
    value = ops.cast(value, layer.compute_dtype)
    value = masks.zero_padding(value, mask, "mask")
    if value_is_key:
        return value, value, mask
    key = ops.cast(key, layer.compute_dtype)
    return value, masks.zero_padding(key, mask, "mask"), mask


def pack_memory(key, value, mask=None) -> dict:
    """Put a memory together: "key", "value" and "mask" if there is one.

    A dictionary of tensors only, rows first, so that it can be part of the
    state of a loop.
    """
    memory = {"key": key, "value": value}
    return memory if mask is None else {**memory, "mask": mask}
