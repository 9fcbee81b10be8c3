"""How a vector gets its position: added to it, or concatenated."""

from keras import ops

from keras_attn.base import argument_checks

MERGES = ("add", "concat")


def check(merge: str, units: int | None):
    """Refuse a `merge` that is none of the two, and vectors of no length."""
    argument_checks.choice(merge, "merge", MERGES)
    if units is not None:
        argument_checks.integer(units, "units", at_least=1)


def merge_positions(inputs, encoding, merge: str):
    """Merge (batch or 1, length, units) encoding into the vectors.

    Args:
        inputs: (batch, length, features).
        encoding: (batch or 1, length, units); to be added, as wide as
            `features`.
        merge: "add" or "concat".

    Returns:
        (batch, length, features), or (batch, length, features + units).
    """
    encoding = ops.cast(encoding, inputs.dtype)
    if merge == "add":
        return inputs + encoding
    shape = (*ops.shape(inputs)[:2], ops.shape(encoding)[2])
    return ops.concatenate([inputs, ops.broadcast_to(encoding, shape)], axis=-1)


def width(units: int | None, features: int, merge: str) -> int:
    """Length of a position's vector: as wide as the features if not given."""
    if units is not None and merge == "add" and units != features:
        raise ValueError(
            'With merge="add" `units` must be the number of features. '
            f"Received: units={units}, features={features}. Leave `units` "
            'out, or choose merge="concat".'
        )
    return features if units is None else units
