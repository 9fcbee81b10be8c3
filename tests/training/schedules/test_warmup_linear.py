import numpy as np
import pytest

from keras_attn.training.schedules.warmup_linear import WarmupLinear


def equation(n, peak, warmup_steps, total_steps, final):
    """The rate of the n-th update, counted from 1."""
    if n <= warmup_steps:
        return peak * n / warmup_steps
    if n >= total_steps:
        return final
    done = (n - warmup_steps) / (total_steps - warmup_steps)
    return (1 - done) * peak + done * final


@pytest.mark.parametrize(
    "init",
    [(0.3, 4, 11, 0.02), (0.3, 0, 5, 0.0), (0.3, 1, 2, 0.3)],
    ids=["both", "no_warm_up", "constant"],
)
def test_matches_the_equation(init):
    schedule = WarmupLinear(*init[:3], final=init[3])
    np.testing.assert_allclose(
        [schedule(step) for step in range(15)],
        [equation(step + 1, *init) for step in range(15)],
        rtol=1e-5,
        atol=1e-8,
    )
