"""Which images a model takes that has learned their positions."""


def check_image_size(inputs, wanted, advice: str):
    """Refuse images of another size: their positions would be wrong.

    Args:
        inputs: What came.
        wanted: The shape of the model's input, (batch, height, width,
            channels).
        advice: What to do with others.
    """
    given = tuple(getattr(inputs, "shape", wanted))
    if len(given) != 4 or any(
        size not in (None, expected)
        for size, expected in zip(given[1:], wanted[1:], strict=True)
    ):
        raise ValueError(
            "This model takes images of (height, width, channels) = "
            f"{tuple(wanted[1:])}, in batches. Received: {given}. {advice}"
        )
