"""Checks of plain arguments: integers, numbers, fractions and choices."""

import math
import numbers


def is_integer(value) -> bool:
    """Whether a value is an integer, Python's or NumPy's, and not a boolean."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def integer(
    value, name: str, *, at_least: int | None = None, reason: str = ""
) -> int:
    """Return an integer; refuse everything else.

    Args:
        value: What was given.
        name: The argument to name.
        at_least: The lowest that will do; None for any.
        reason: Why it must be one, if that is not plain.

    Raises:
        ValueError: If it is no integer or too low.
    """
    if not is_integer(value) or (at_least is not None and value < at_least):
        bound = "" if at_least is None else f" of at least {at_least}"
        reason = f", {reason}" if reason else ""
        raise ValueError(
            f"`{name}` must be an integer{bound}{reason}. Received: "
            f"{name}={value!r}"
        )
    return int(value)


def above(value, name: str, bound: float = 0):
    """Refuse what is no finite number above `bound`."""
    if not _is_number(value) or not bound < value < math.inf:
        raise ValueError(
            f"`{name}` must be a number above {bound}. Received: "
            f"{name}={value!r}"
        )


def rate(value, name: str = "dropout"):
    """Refuse a fraction that is none, or that leaves nothing."""
    if not _is_number(value) or not 0 <= value < 1:
        raise ValueError(
            f"`{name}` must be at least 0 and less than 1. Received: "
            f"{name}={value!r}"
        )


def share(value, name: str):
    """Refuse a part of a whole that is nothing, or more than the whole."""
    if not _is_number(value) or not 0 < value <= 1:
        raise ValueError(
            f"`{name}` must be above 0 and at most 1. Received: "
            f"{name}={value!r}"
        )


def choice(value, name: str, choices):
    """Refuse what is not among `choices`."""
    if value not in choices:
        raise ValueError(
            f"`{name}` must be one of {tuple(choices)}. Received: "
            f"{name}={value!r}"
        )


def vector_model(value, name: str, otherwise: str = ""):
    """Refuse what is no functional model from one input to a vector.

    Args:
        value: What came.
        name: Its argument.
        otherwise: What else it may be, ending with "or".
    """
    if not getattr(value, "inputs", None) or len(value.output_shape) != 2:
        raise ValueError(
            f"`{name}` must be {otherwise}a functional model that returns a "
            "vector for each row, (batch, features): open a Sequential with "
            "keras.Input, and end it with a pooling or Flatten. Received: "
            f"{name}={value!r}"
        )


def _is_number(value):
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
