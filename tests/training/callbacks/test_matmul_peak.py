import time

import numpy as np
import pytest

from keras_attn.training.callbacks import matmul_peak as module
from keras_attn.training.callbacks.matmul_peak import matmul_peak


def test_it_is_about_what_numpy_reaches():
    matrix = np.ones((512, 512), "float32")
    times = []
    for _ in range(20):
        start = time.perf_counter()
        matrix @ matrix
        times.append(time.perf_counter() - start)
    by_numpy = 2 * 512**3 / min(times)
    # Other processes may take most of the machine from either.
    assert by_numpy / 30 < matmul_peak() < by_numpy * 30


def test_it_takes_the_shortest_time_of_a_product_that_is_long_enough(
    monkeypatch,
):
    sizes = []
    times = iter([9.0, 0.001, 9.0, 0.02] + [0.03] * 2 + [0.01] + [0.03] * 999)

    def seconds(matrix):
        sizes.append(matrix.shape[0])
        time.sleep(0.001)
        return next(times)

    monkeypatch.setattr(module, "_product_seconds", seconds)
    assert matmul_peak(0.1) == pytest.approx(2 * 1024**3 / 0.01)
    assert sizes[:3] == [512, 512, 1024] and set(sizes) == {512, 1024}
