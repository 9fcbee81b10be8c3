import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.resuming import replicas


def variable(strategy, aggregation="sum", *, is_metric=True, value=0.0):
    with strategy.scope():
        return keras.Variable(
            value,
            trainable=False,
            aggregation=aggregation,
            synchronization="on_read" if is_metric else "auto",
        )


@pytest.fixture
def mirrored():
    return tf.distribute.MirroredStrategy(["CPU:0"])


def test_metrics_and_moving_averages_may_differ(mirrored):
    assert replicas.may_differ(variable(mirrored))
    assert replicas.may_differ(variable(mirrored, "none", is_metric=False))
    with mirrored.scope():
        assert not replicas.may_differ(keras.Variable(1.0))
    assert not replicas.may_differ(variable(tf.distribute.get_strategy()))


def test_what_was_read_can_be_written(mirrored):
    total = variable(mirrored, value=3.0)
    mean = variable(mirrored, "none", is_metric=False, value=4.0)
    with mirrored.scope():
        arrays = replicas.ReplicaReader(mirrored).read([total, mean])
        # Sums are kept by replica, what is equal in all of them is not.
        assert [array.tolist() for array in arrays] == [[3.0], 4.0]
        replicas.write([(total, np.array([5.0], "float32"))], mirrored)
        assert float(mirrored.reduce("SUM", total.value, axis=None)) == 5.0


@pytest.mark.parametrize(
    ("aggregation", "expected"),
    [("sum", 6.0), ("mean", 3.0), ("none", 3.0), ("only_first_replica", 2.0)],
)
def test_another_number_of_replicas_gets_the_same_in_all(aggregation, expected):
    strategy = tf.distribute.get_strategy()
    one = variable(strategy, aggregation)
    replicas.write([(one, np.array([2.0, 4.0], "float32"))], strategy)
    assert float(one) == expected


def test_nothing_is_read_of_nothing(mirrored):
    assert replicas.ReplicaReader(mirrored).read([]) == []
