import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.schedules.warmup_rsqrt import WarmupRsqrt

STEPS = np.array([0, 1, 2, 5, 6, 7, 8, 30, 999_999])


def test_matches_the_equation_of_the_paper():
    schedule = WarmupRsqrt(units=5, warmup_steps=7)
    n = STEPS + 1.0
    expected = 5**-0.5 * np.minimum(n**-0.5, n * 7**-1.5)
    rates = [schedule(step) for step in STEPS]
    np.testing.assert_allclose(rates, expected, rtol=1e-6)


def test_a_given_peak_only_scales_it():
    by_units = WarmupRsqrt(units=5, warmup_steps=7)
    by_peak = WarmupRsqrt(peak=0.25, warmup_steps=7)
    np.testing.assert_allclose(
        [by_peak(step) for step in STEPS],
        [by_units(step) * 0.25 * np.sqrt(5 * 7) for step in STEPS],
        rtol=1e-6,
    )


def test_the_peak_is_at_the_last_update_of_the_warm_up():
    schedule = WarmupRsqrt(peak=0.25, warmup_steps=7)
    rates = [float(schedule(step)) for step in range(20)]
    assert rates[6] == max(rates) == 0.25
    assert rates.count(0.25) == 1
    assert rates[0] == pytest.approx(0.25 / 7)


def test_has_the_highest_rate_of_the_first_transformer():
    assert float(WarmupRsqrt(512)(3999)) == pytest.approx(6.9877e-4, rel=1e-4)


@pytest.mark.parametrize("compiled", [False, True], ids=["graph", "xla"])
def test_works_in_a_graph(compiled):
    schedule = WarmupRsqrt(5, 7)
    rate = tf.function(schedule, jit_compile=compiled)
    for step in STEPS:
        found = rate(tf.constant(step, "int64"))
        assert found.dtype == "float32"
        np.testing.assert_allclose(found, schedule(step), rtol=1e-6)


def test_an_optimizer_follows_it_from_its_first_update():
    schedule = WarmupRsqrt(peak=0.5, warmup_steps=2)
    optimizer = keras.optimizers.SGD(schedule)
    variable = keras.Variable(np.zeros((), "float32"))
    for rates in (0.25, 0.75, 0.75 + 0.5 * np.sqrt(2 / 3)):
        optimizer.apply([tf.constant(-1.0)], [variable])
        np.testing.assert_allclose(variable, rates, rtol=1e-6)


@pytest.mark.parametrize(
    "init", [{"units": 5, "warmup_steps": 7}, {"peak": 0.1}], ids=str
)
def test_the_config_is_the_constructor(init):
    schedule = WarmupRsqrt(**init)
    arguments = inspect.signature(WarmupRsqrt).parameters
    assert schedule.get_config().keys() == arguments.keys()
    assert init.items() <= schedule.get_config().items()
    config = keras.optimizers.schedules.serialize(schedule)
    assert config["registered_name"] == "keras_attn>WarmupRsqrt"
    again = keras.optimizers.schedules.deserialize(config)
    assert again.get_config() == schedule.get_config()


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({}, "pass one of them"),
        ({"units": 5, "peak": 0.1}, "pass one of them"),
        ({"units": 0}, "`units` must be an integer of at least 1"),
        ({"units": 1e-3}, "`units` must be an integer"),
        ({"peak": 0.0}, "`peak` must be a number above 0"),
        ({"units": 5, "warmup_steps": 0}, "`warmup_steps`.*at least 1"),
    ],
    ids=str,
)
def test_rejects_wrong_arguments(init, message):
    with pytest.raises(ValueError, match=message):
        WarmupRsqrt(**init)
