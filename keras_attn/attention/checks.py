"""What attention layers refuse, each with a sentence that says what to do."""

import keras

from keras_attn.ops.checks import agree


def function(value, name: str):
    """Refuse what is neither None nor the name of a Keras activation."""
    known = sorted(
        {name for name in vars(keras.activations) if not name.startswith("_")}
        - {"deserialize", "get", "serialize"}
        - {"glu", "threshold"}  # another width; more arguments
    )
    if value is not None and value not in known:
        raise ValueError(
            f"`{name}` must be None, to leave things as they are, or the name "
            f"of the activation that follows W h + b: one of {known}. "
            f"Received: {name}={value!r}"
        )


def sequences(**shapes):
    """Refuse shapes that are not (batch, length, features) or do not match.

    Args:
        shapes: The shapes of `query`, `value` and `key` by name.
    """
    received = ", ".join(f"{k}={tuple(v)}" for k, v in shapes.items())
    for name, shape in shapes.items():
        if len(shape) != 3 or shape[-1] is None:
            raise ValueError(
                f"`{name}` must have 3 axes, (batch, length, features), the "
                f"last of known size. Received shapes: {received}. Give a "
                "single vector a length of 1: x[:, None, :]; flatten the "
                "pixels of an image."
            )
    if "key" in shapes and not agree(shapes["key"][1], shapes["value"][1]):
        raise ValueError(
            "`key` and `value` must have the same length, one key for each "
            f"value. Received shapes: {received}"
        )


def same_width(query_shape, key_shape, remedy: str):
    """Refuse a query and a key whose dot product does not exist."""
    if query_shape[-1] != key_shape[-1]:
        raise ValueError(
            "A dot product needs `query` and `key` of the same width. "
            f"Received shapes: query={tuple(query_shape)}, "
            f"key={tuple(key_shape)}. {remedy}"
        )


def attends_to_memory(attention):
    """Refuse what has no `project_memory` and `attend_memory`."""
    if not hasattr(attention, "attend_memory"):
        raise ValueError(
            "`attention` must be one of the attention layers of this package, "
            "which project a memory once: such as `AdditiveAttention(units)`. "
            f"Received: {attention!r}"
        )


def memory(shape, features: int | None = None):
    """Refuse the shape of a memory that a cell cannot attend to.

    Args:
        shape: Wanted are (batch, key, features).
        features: How many the cell was built for, if it was.
    """
    shape = tuple(shape)
    if len(shape) != 3 or shape[-1] is None:
        raise ValueError(
            "`memory` must be (batch, key, features), with as many features "
            f"as are known. Received: memory.shape={shape}. A feature grid is "
            "flattened first: `keras.layers.Reshape((-1, features))`."
        )
    if features not in (None, shape[-1]):
        raise ValueError(
            f"This cell was built for a memory of {features} features. "
            f"Received: memory.shape={shape}"
        )
