"""Positions by name."""

from keras_attn.base import argument_checks
from keras_attn.embeddings.learned_position import LearnedPosition
from keras_attn.embeddings.sine_position import SinePosition

POSITIONS = ("learned", "sine", "split_sine", None)


def make_position(
    name: str | None, *, max_length: int | None, initializer, **options
):
    """Make the layer that adds positions, or None where there are none.

    Args:
        name: "learned"; "sine"; "split_sine", all sines before all cosines;
            or None.
        max_length: How many are learned.
        initializer: Of those that are learned.
        options: Further arguments of the layer, such as `dtype`.
    """
    argument_checks.choice(name, "position", POSITIONS)
    if name is None:
        return None
    if name == "learned":
        return LearnedPosition(
            max_length, embeddings_initializer=initializer.clone(), **options
        )
    return SinePosition(interleaved=name == "sine", **options)
