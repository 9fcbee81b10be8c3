import math

import ml_dtypes
import numpy as np
import pytest

from keras_attn.export.verify.differences import difference
from keras_attn.export.verify.differences import tolerance


def test_matches_the_equation(rng):
    found = rng.normal(size=(3, 4)) * 10
    wanted = found + rng.normal(size=(3, 4))
    expected = (np.abs(found - wanted) / (1 + np.abs(wanted))).max()
    assert difference(found, wanted) == pytest.approx(expected)


@pytest.mark.parametrize(
    "values",
    [
        [math.nan, math.inf, -math.inf, 1.0],
        np.array([1 + 2j, math.nan], "complex64"),
        np.array([b"a", b"\xff"], object),
        [True, False],
        np.zeros((0, 3), "float32"),
        np.array([1.5, math.inf], ml_dtypes.bfloat16),
    ],
    ids=str,
)
def test_what_is_equal_does_not_differ(values):
    assert difference(np.array(values), np.array(values)) == 0.0


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ([1.0], [math.nan]),
        ([math.nan], [1.0]),
        ([math.inf], [-math.inf]),
        ([math.inf], [1.0]),
        ([100_000_000], [100_000_001]),
        ([True], [False]),
        (np.array([b"a"], object), np.array([b"b"], object)),
        ([1.0], [[1.0]]),
        (np.zeros(1, "float32"), np.zeros(1, "float64")),
        ([1], [1.0]),
    ],
)
def test_what_cannot_be_rounding_is_infinitely_far(found, wanted):
    assert difference(np.array(found), np.array(wanted)) == math.inf


def test_half_precision_may_differ_in_its_last_bits():
    one = np.array([1.0], "float16")
    assert difference(np.nextafter(one, one + 1), one) < tolerance("float16")
    assert tolerance("float32") == tolerance("float64") == 1e-5
    assert tolerance("bfloat16") > tolerance("float16")
