"""The parts that built-in data comes in."""

SPLITS = ("train", "validation", "test")


def check_split(split: str) -> None:
    """Refuse a split that built-in data does not have."""
    if split not in SPLITS:
        raise ValueError(
            f"`split` must be one of {', '.join(map(repr, SPLITS))}. "
            f"Received: split={split!r}."
        )
