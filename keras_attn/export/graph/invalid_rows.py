"""What a row gets that could not be answered."""

from collections.abc import Mapping

import tensorflow as tf

# A number of a class is int64, and none of them is -1.
BLANKS = {tf.string: "", tf.int64: -1, tf.bool: False}


def blank_invalid(outputs: Mapping, valid) -> dict:
    """Empty the rows whose input was not valid.

    Such a row is still computed, from an empty input, because one bad row must
    not fail its batch; its numbers would mean nothing.

    Args:
        outputs: Tensors by name, (batch, ...).
        valid: (batch,) booleans.

    Returns:
        The same with 0, False, "" or, as int64, -1 in the rows that are not
        valid, and `"valid"`.
    """
    answers = {"valid": valid}
    for name, output in outputs.items():
        rank = output.shape.rank
        kept = tf.reshape(valid, [-1] + [1] * (rank - 1))
        blank = tf.constant(BLANKS.get(output.dtype, 0), output.dtype)
        answers[name] = tf.where(kept, output, blank)
    return answers
