"""The options of sampling: what each may be."""

import numpy as np
import tensorflow as tf

from keras_attn.decoding.arguments import for_each_row

# For each option: where values are in range, the range in words, the dtype.
RANGES = {
    "temperature": (
        lambda value: (value >= 0) & np.isfinite(value),
        "0 or more",
        tf.float32,
    ),
    "top_k": (
        lambda value: (value >= 0) & (value == np.floor(value)),
        "a whole number, 0 or more",
        tf.int32,
    ),
    "top_p": (
        lambda value: (value > 0) & (value <= 1),
        "more than 0 and at most 1",
        tf.float32,
    ),
    "min_p": (
        lambda value: (value >= 0) & (value <= 1),
        "from 0 to 1",
        tf.float32,
    ),
    "repetition_penalty": (
        lambda value: (value > 0) & np.isfinite(value),
        "more than 0",
        tf.float32,
    ),
}


def check(name: str, value):
    """Refuse an option out of its range; what is unknown yet passes.

    Raises:
        ValueError: If a value is out of range.
    """
    known = tf.get_static_value(value) if tf.is_tensor(value) else value
    if known is None:
        return
    valid, wanted, _ = RANGES[name]
    if not np.all(valid(np.asarray(known))):
        raise ValueError(
            f"`{name}` must be {wanted}, as a number or one for each row. "
            f"Received: {name}={known}"
        )


def check_each(batch_size, **values) -> list:
    """Check options and bring each to a number or to (batch, 1)."""
    for name, value in values.items():
        check(name, value)
    return [
        for_each_row(value, name, batch_size, RANGES[name][-1])
        for name, value in values.items()
    ]
