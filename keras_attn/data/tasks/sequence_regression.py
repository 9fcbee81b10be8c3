"""Sequences of measurements and the numbers to be told from them."""

import tensorflow as tf


def sequence_regression(examples: tf.data.Dataset) -> tf.data.Dataset:
    """Training examples of regression from a sequence.

        weights = 1 at every step,    0 where it is padded

    Args:
        examples: `{"sequence", "target"}`: (time, features), and a scalar,
            (k,) or, a target for every step, (time, k).

    Returns:
        `(sequence, target)`, float32. Where there is a target for every step
        of unknown number, `(sequence, target, weights)` with weights of 1,
        (time,), which `batches` pads with 0: padded targets then do not count
        in Keras' losses.
    """
    fields = examples.element_spec
    _check_fields(fields)
    target = fields["target"].shape
    with_weights = target.rank == 2 and target[0] is None

    def cast(example):
        sequence = tf.cast(example["sequence"], tf.float32)
        target = tf.cast(example["target"], tf.float32)
        if with_weights:
            return sequence, target, tf.ones_like(target[:, 0])
        return sequence, target

    return examples.map(cast, tf.data.AUTOTUNE)


def _check_fields(fields):
    names = {"sequence", "target"}
    if not isinstance(fields, dict) or not names <= fields.keys():
        raise ValueError(
            "Examples must be dictionaries with `sequence` and `target`. "
            f"Received: {fields}"
        )
    sequence, target = fields["sequence"].shape, fields["target"].shape
    if sequence.rank != 2 or sequence[1] is None:
        raise ValueError(
            "`sequence` must be (time, features) with a known number of "
            f"features. Received: sequence.shape={sequence}"
        )
    if target.rank is None or target.rank > 2 or None in target[-1:]:
        raise ValueError(
            "`target` must be a scalar, (k,) or (time, k), with a known k. "
            f"Received: target.shape={target}"
        )
