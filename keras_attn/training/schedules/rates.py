"""Checks of the numbers that make a learning rate schedule."""

import math
import numbers


def check_steps(value: int, name: str, *, at_least: int) -> None:
    """Raise unless `value` is a whole number, `at_least` or more."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < at_least:
        raise ValueError(
            f"`{name}` must be a whole number, at least {at_least}. Received: "
            f"{name}={value!r}"
        )


def check_rate(value: float, name: str) -> None:
    """Raise unless `value` is a number above 0."""
    if not isinstance(value, numbers.Real) or not 0 < value < math.inf:
        raise ValueError(
            f"`{name}` must be a number above 0. Received: {name}={value!r}"
        )
