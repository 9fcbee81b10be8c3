"""Options that each row of a request has for itself."""

import numpy as np
import tensorflow as tf

INPUTS = {
    "max_length": tf.TensorSpec([None], tf.int32),
    "temperature": tf.TensorSpec([None], tf.float32),
    "seed": tf.TensorSpec([None], tf.int64),
}


def check(valid, max_length, temperature, *, most: int):
    """Refuse rows with options out of range, and them alone.

        valid = 1 <= max_length <= most and 0 <= temperature < infinity

    Args:
        valid: (batch,) booleans, whether the rest of the row is valid.
        max_length: (batch,) int32.
        temperature: (batch,) float32.
        most: The greatest `max_length`.

    Returns:
        (batch,) valid, limits and temperatures; the limit of a row that is
        not valid is 0 and its temperature 0.
    """
    # NaN is neither.
    warm = (temperature >= 0) & (temperature < np.inf)
    valid = valid & (max_length >= 1) & (max_length <= most) & warm
    limits = tf.where(valid, max_length, 0)
    return valid, limits, tf.where(valid, temperature, 0.0)


def examples(rows: int, most: int) -> dict:
    """Options for the first rows of a request, and one that is wrong.

    Args:
        rows: How many rows are to be answered.
        most: The greatest `max_length`.

    Returns:
        (rows + 1,) arrays by name; the last row's temperature is below 0.
    """
    number = np.arange(rows + 1)
    return {
        "max_length": np.maximum(most // (number + 1), 1).astype("int32"),
        "temperature": np.append(0.5 * (number[:-1] % 3), -1).astype("float32"),
        "seed": number.astype("int64"),
    }
