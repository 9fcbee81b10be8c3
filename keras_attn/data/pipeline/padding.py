"""What sequences are padded with, and to which shapes."""

from collections.abc import Mapping

import tensorflow as tf

# They number something else than tokens, and 0 is their "nothing".
PADDED_WITH_ZERO = ("segments", "positions")


def values(spec, pad_id: int):
    """Choose what each component of an example is padded with.

    Args:
        spec: The `element_spec` of unbatched examples.
        pad_id: For integers, but for those that stand under a key "segments"
            or "positions".

    Returns:
        The structure of `spec`, a scalar for each component: `pad_id`, 0, ""
        or False.
    """
    components = [
        tf.constant(pad_id, component.dtype)
        if component.dtype.is_integer and name not in PADDED_WITH_ZERO
        else tf.zeros((), component.dtype)
        for name, component in zip(
            _names(spec), tf.nest.flatten(spec), strict=True
        )
    ]
    return tf.nest.pack_sequence_as(spec, components)


def shapes(spec, length: int):
    """Put `length` where an axis is unknown; the structure stays."""
    return tf.nest.map_structure(
        lambda component: tf.TensorShape(
            [length if size is None else size for size in component.shape]
        ),
        spec,
    )


def _names(spec, name=None):
    """The key of each component, in the order of `tf.nest.flatten`."""
    if isinstance(spec, Mapping):
        return [n for key in sorted(spec) for n in _names(spec[key], key)]
    if isinstance(spec, tuple):
        fields = getattr(spec, "_fields", [name] * len(spec))
        parts = zip(spec, fields, strict=True)
        return [n for part, field in parts for n in _names(part, field)]
    return [name]
