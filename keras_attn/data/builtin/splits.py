"""The parts that built-in data comes in."""

from keras_attn.base import argument_checks

SPLITS = ("train", "validation", "test")


def check_split(split: str) -> None:
    """Refuse a split that built-in data does not have."""
    argument_checks.choice(split, "split", SPLITS)
