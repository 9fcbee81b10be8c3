import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.schedules.warmup_cosine import WarmupCosine
from keras_attn.training.schedules.warmup_decay import WarmupDecay
from keras_attn.training.schedules.warmup_linear import WarmupLinear


@pytest.fixture(params=[WarmupCosine, WarmupLinear])
def schedule_class(request):
    return request.param


def test_a_subclass_says_how_the_rate_falls():
    with pytest.raises(NotImplementedError):
        WarmupDecay(0.25, 4, 11)(5)


def test_the_peak_is_at_the_last_update_of_the_warm_up(schedule_class):
    schedule = schedule_class(0.25, 4, 11)
    rates = [float(schedule(step)) for step in range(15)]
    assert rates[3] == max(rates) == 0.25
    assert rates.count(0.25) == 1
    assert rates[0] == 0.25 / 4


def test_stays_at_its_final_rate(schedule_class):
    schedule = schedule_class(0.25, 4, 11, final=0.125)
    assert float(schedule(9)) > 0.125
    for step in (10, 11, 50, 10**7):
        assert float(schedule(step)) == 0.125


@pytest.mark.parametrize("compiled", [False, True], ids=["graph", "xla"])
def test_works_in_a_graph(schedule_class, compiled):
    schedule = schedule_class(0.3, 4, 11, final=0.02)
    rate = tf.function(schedule, jit_compile=compiled)
    for step in (0, 3, 4, 7, 10, 11):
        found = rate(tf.constant(step, "int64"))
        assert found.dtype == "float32"
        np.testing.assert_allclose(found, schedule(step), rtol=1e-5)


def test_an_optimizer_follows_it_from_its_first_update(schedule_class):
    optimizer = keras.optimizers.SGD(schedule_class(0.5, 2, 4))
    variable = keras.Variable(np.zeros((), "float32"))
    for rates in (0.25, 0.75, 1.0, 1.0):
        optimizer.apply([tf.constant(-1.0)], [variable])
        np.testing.assert_allclose(variable, rates, rtol=1e-6)


def test_the_config_is_the_constructor(schedule_class):
    schedule = schedule_class(0.3, 4, 11, final=0.02)
    arguments = inspect.signature(schedule_class).parameters
    assert schedule.get_config().keys() == arguments.keys()
    config = keras.optimizers.schedules.serialize(schedule)
    assert config["registered_name"] == f"keras_attn>{schedule_class.__name__}"
    again = keras.optimizers.schedules.deserialize(config)
    assert again.get_config() == schedule.get_config()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"peak": 0}, "`peak` must be a number above 0"),
        ({"warmup_steps": -1}, "`warmup_steps`.*at least 0"),
        ({"total_steps": 4}, "`total_steps`.*at least 5"),
        ({"total_steps": 11.5}, "`total_steps` must be an integer"),
        ({"final": 0.4}, "`final` must be from 0 to `peak`"),
        ({"final": -0.1}, "`final` must be from 0 to `peak`"),
    ],
    ids=str,
)
def test_rejects_wrong_arguments(schedule_class, change, message):
    init = {"peak": 0.3, "warmup_steps": 4, "total_steps": 11, **change}
    with pytest.raises(ValueError, match=message):
        schedule_class(**init)
