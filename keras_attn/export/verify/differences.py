"""How far an answer is from the one that was recorded."""

import math

import numpy as np

# A float32 sum in another order moves its last digits, no more.
TOLERANCE = 1e-5
# Of half precision, the last two bits.
HALF_TOLERANCE = {"float16": 2**-9, "bfloat16": 2**-6}


def difference(found: np.ndarray, wanted: np.ndarray) -> float:
    """Measure the worst difference between two arrays.

        difference = max |found - wanted| / (1 + |wanted|)

    Args:
        found, wanted: Arrays of numbers, booleans or strings.

    Returns:
        0 for equal arrays, NaN counting as equal to NaN; infinity if shapes,
        dtypes, strings, booleans or integers differ in anything.
    """
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return math.inf
    is_half = found.dtype.name in HALF_TOLERANCE
    if not is_half and found.dtype.kind not in "fc":
        return 0.0 if found.tolist() == wanted.tolist() else math.inf
    wide = "complex128" if found.dtype.kind == "c" else "float64"
    found, wanted = found.astype(wide), wanted.astype(wide)
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    finite = np.isfinite(found) & np.isfinite(wanted)
    if not (same | finite).all():
        return math.inf
    found, wanted = found[~same], wanted[~same]
    apart = np.abs(found - wanted) / (1 + np.abs(wanted))
    return float(np.max(apart, initial=0.0))


def tolerance(dtype: np.dtype) -> float:
    """The greatest `difference` that rounding explains."""
    return HALF_TOLERANCE.get(np.dtype(dtype).name, TOLERANCE)
