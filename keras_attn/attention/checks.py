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
