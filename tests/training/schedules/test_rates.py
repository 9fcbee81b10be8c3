import numpy as np
import pytest

from keras_attn.training.schedules import rates


@pytest.mark.parametrize("value", [1, 3.0, "3", True, None])
def test_rejects_steps_that_are_none(value):
    with pytest.raises(ValueError, match=r"`warmup_steps`.*at least 2"):
        rates.check_steps(value, "warmup_steps", at_least=2)


@pytest.mark.parametrize("value", [2, np.int64(3)])
def test_accepts_whole_numbers_of_steps(value):
    rates.check_steps(value, "warmup_steps", at_least=2)


@pytest.mark.parametrize("value", [0, -1e-3, np.inf, np.nan, "0.1", None])
def test_rejects_rates_that_cannot_train(value):
    with pytest.raises(ValueError, match="`peak` must be a number above 0"):
        rates.check_rate(value, "peak")


@pytest.mark.parametrize("value", [1e-4, 1, np.float32(0.5)])
def test_accepts_rates(value):
    rates.check_rate(value, "peak")
