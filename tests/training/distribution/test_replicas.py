import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.distribution import replicas


def compiled(**options):
    inputs = keras.Input((2,))
    model = keras.Model(inputs, keras.layers.Dense(1)(inputs))
    optimizer = keras.optimizers.SGD(
        gradient_accumulation_steps=options.pop("accumulation", None)
    )
    model.compile(optimizer, loss="mse", **options)
    return model


def test_what_cannot_be_distributed_is_refused_with_a_reason():
    with pytest.raises(ValueError, match=r"`steps_per_execution` must be 1.*3"):
        replicas.check(compiled(steps_per_execution=3), own_step=False)
    with pytest.raises(ValueError, match="micro_batches"):
        replicas.check(compiled(accumulation=2), own_step=False)
    model = compiled()
    replicas.check(model, own_step=True)  # on one device
    model._distribute_strategy = lambda: None
    model._distribute_strategy.num_replicas_in_sync = 2
    with pytest.raises(ValueError, match="Functional has a `train_step` of"):
        replicas.check(model, own_step=True)


def test_one_replica_is_its_own_sum():
    assert replicas.summed([1, None]) == [1, None]


def test_the_first_replica_keeps_its_seeds():
    seed = keras.random.SeedGenerator(3).state
    other = keras.Variable(np.ones(2))
    values = [seed.value, other.value]
    for sign in (1, -1):
        moved = replicas.move_seeds([seed, other], values, sign)
        np.testing.assert_array_equal(moved[0], [3, 0])
        np.testing.assert_array_equal(moved[1], [1, 1])


def test_logs_of_several_workers_have_an_axis_to_be_reduced():
    logs = {"loss": tf.constant(2.0)}
    here = tf.distribute.get_strategy()
    assert replicas.as_logs(logs, here) is logs
    other = object.__new__(tf.distribute.MultiWorkerMirroredStrategy)
    assert replicas.as_logs(logs, other)["loss"].shape == (1,)
    assert not replicas.compiles_whole_steps(keras.Sequential())


def test_a_batch_of_one_device_is_its_own_part():
    batch = (tf.ones((2, 3)), {"label": tf.ones((2,))})
    part = replicas.local_part(batch, tf.distribute.get_strategy())
    assert part[1]["label"].shape == (2,)
