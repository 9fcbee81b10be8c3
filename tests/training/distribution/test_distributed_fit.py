"""What a strategy of one replica shows; several are in `test_together`."""

import contextlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn import models
from keras_attn.training.distribution import replicas
from keras_attn.training.distribution.distributed_fit import DistributedFit


class Distributed(DistributedFit, keras.Model):
    pass


class WithItsOwnStep(DistributedFit, keras.Model):
    def train_step(self, data):
        return {}


def make(model_class=Distributed, strategy=None, **options):
    with strategy.scope() if strategy else contextlib.nullcontext():
        keras.utils.set_random_seed(1)
        inputs = keras.Input((3,))
        x = keras.layers.Dense(2, kernel_regularizer="l2")(inputs)
        model = model_class(inputs, x)
        model.compile(
            keras.optimizers.Adam(0.1, global_clipnorm=0.5),
            loss="mse",
            metrics=["mae"],
            **{"jit_compile": False, **options},
        )
    return model


def test_one_replica_trains_as_no_strategy(rng):
    x, y = rng.normal(size=(4, 3)), rng.normal(size=(4, 2))
    results = []
    for strategy in (None, tf.distribute.OneDeviceStrategy("/cpu:0")):
        model = make(strategy=strategy)
        history = model.fit(x, y, batch_size=2, shuffle=False, verbose=0)
        found = model.evaluate(x, y, batch_size=2, verbose=0)
        results.append([*model.get_weights(), *history.history.values(), found])
    for alone, replica in zip(*results, strict=True):
        np.testing.assert_allclose(replica, alone, rtol=1e-5)


def test_xla_is_left_to_the_replica():
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    model = make(strategy=strategy, jit_compile=True)
    x = np.ones((4, 3))
    model.fit(x, x[:, :2], verbose=0)
    assert model.jit_compile  # as it was said


def test_a_strategy_that_compiles_whole_steps_finds_no_xla_in_them(
    monkeypatch,
):
    monkeypatch.setattr(replicas, "compiles_whole_steps", lambda model: True)
    model = make(
        strategy=tf.distribute.OneDeviceStrategy("/cpu:0"), jit_compile=True
    )
    compiled = []
    function = tf.function

    def noted(*args, jit_compile=None, **options):
        compiled.append(jit_compile)
        return function(*args, jit_compile=jit_compile, **options)

    monkeypatch.setattr(tf, "function", noted)
    x = np.ones((4, 3))
    model.fit(x, x[:, :2], verbose=0)
    model.predict(x, verbose=0)
    assert compiled and not any(compiled)
    assert model.jit_compile


def test_a_step_of_its_own_is_refused_by_several_replicas():
    model = make(WithItsOwnStep)
    model._distribute_strategy = type(
        "Strategy", (), {"num_replicas_in_sync": 2}
    )
    with pytest.raises(ValueError, match="WithItsOwnStep has a `train_step`"):
        model.make_train_function()
    assert models.SAGAN.train_step is not DistributedFit.train_step
