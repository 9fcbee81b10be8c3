"""The numbers that a model takes for black and white."""

from collections.abc import Sequence


def check_value_range(value_range: Sequence[float]) -> None:
    """Refuse what is no range of pixels."""
    lowest, highest = value_range
    if not lowest < highest:
        raise ValueError(
            "`value_range` is the lowest and the highest value of a pixel, "
            f"such as (0, 1) or (0, 255). Received: {value_range}"
        )


def to_value_range(images, value_range: Sequence[float]):
    """Scale pixels from 0 to 1 to the range that a model was trained on.

        output = lowest + (highest - lowest) image

    Args:
        images: (..., height, width, channels) between 0 and 1.
        value_range: The lowest and the highest value, such as (-1, 1).
    """
    lowest, highest = value_range
    return lowest + (highest - lowest) * images
