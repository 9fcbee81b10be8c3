"""What a strategy of one replica shows; several are in `test_together`."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn import models
from tests.training.distribution import trained_together


def difference(one, other):
    return max(np.abs(a - b).max() for a, b in zip(one, other, strict=True))


def test_one_replica_trains_as_no_strategy():
    alone, history, found = trained_together.train("keras", jit_compile=False)
    weights, same_history, same = trained_together.train(
        "keras", tf.distribute.OneDeviceStrategy("/cpu:0"), jit_compile=False
    )
    assert difference(alone, weights) < 1e-10
    # Not those of single outputs: where the last batch is smaller, Keras lets
    # it count as much as the others.
    for a, b in ((history, same_history), (found, same)):
        np.testing.assert_allclose(b["loss"], a["loss"], rtol=1e-6)


def test_xla_is_left_to_the_replica():
    with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        inputs = keras.Input((3,))
        model = keras.Model(inputs, keras.layers.Dense(2)(inputs))
    model = trained_together.training.distributed(model)
    model.compile("sgd", loss="mse", jit_compile=True)
    x = np.ones((4, 3))
    model.fit(x, x[:, :2], verbose=0)
    assert model.jit_compile  # as it was said


def test_a_model_with_its_own_step_is_refused_by_several_replicas():
    model = models.SAGAN(
        image_size=32,
        noise_dim=4,
        generator_width=8,
        discriminator_width=8,
    )
    model.compile(jit_compile=False)
    strategy = type("Strategy", (), {"num_replicas_in_sync": 2})
    model._distribute_strategy = strategy
    with pytest.raises(ValueError, match="SAGAN has a `train_step` of its own"):
        model.make_train_function()
