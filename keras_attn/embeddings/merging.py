"""How a vector learns its place: by adding the place to it, or appending."""

from keras import ops

MERGES = ("add", "concat")


def check(merge: str, units: int | None):
    """Refuse a `merge` that is none of the two, and vectors of no length."""
    if merge not in MERGES:
        raise ValueError(
            f"`merge` must be one of {MERGES}. Received: merge={merge!r}"
        )
    if units is not None and units < 1:
        raise ValueError(
            f"`units` must be None or at least 1. Received: units={units}"
        )


def merge_places(inputs, places, merge: str):
    """Merge (batch or 1, length, units) places into the vectors.

    Args:
        inputs: (batch, length, features).
        places: (batch or 1, length, units), as wide as `features` to be added.
        merge: "add" or "concat".

    Returns:
        (batch, length, features), or (batch, length, features + units).
    """
    places = ops.cast(places, inputs.dtype)
    if merge == "add":
        return inputs + places
    shape = (*ops.shape(inputs)[:2], ops.shape(places)[2])
    return ops.concatenate([inputs, ops.broadcast_to(places, shape)], axis=-1)


def width(units: int | None, features: int, merge: str) -> int:
    """Length of a place's vector: as wide as the features if not given."""
    if units is not None and merge == "add" and units != features:
        raise ValueError(
            'With merge="add" `units` must be the number of features. '
            f"Received: units={units}, features={features}. Leave `units` "
            'out, or choose merge="concat".'
        )
    return features if units is None else units
