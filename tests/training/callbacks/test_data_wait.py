import itertools
import time
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.callbacks.data_wait import DataWait
from tests.training.callbacks.runs import run


def train(batches, wait):
    """Train on a dataset's batches until there are no more."""
    iterator, found = iter(batches), []
    while True:
        try:
            found.append(wait(iterator))
        except StopIteration:
            return found


def test_each_batch_is_handed_on_once():
    def take_two(iterator):
        return [int(x) for x in itertools.islice(iterator, 2)]

    batches = tf.data.Dataset.range(5)
    assert train(batches, DataWait(take_two)) == [[0, 1], [2, 3], [4]]


def test_fetching_is_timed_and_training_is_not():
    def slow_batches():
        for number in range(3):
            time.sleep(0.1)
            yield number

    def slow_training(iterator):
        time.sleep(0.2)
        return next(iterator)

    wait = DataWait(slow_training)
    assert train(slow_batches(), wait) == [0, 1, 2]
    assert 0.3 <= wait.seconds < 0.9  # training is at least 0.6


def test_an_error_of_the_data_is_the_data_s_own():
    def broken():
        yield 1
        raise ValueError("no such file")

    with pytest.raises(ValueError, match="no such file"):
        train(broken(), DataWait(next))


def test_two_callbacks_share_one():
    model = SimpleNamespace(train_function=next)
    wait = DataWait.of(model)
    assert DataWait.of(model) is wait is model.train_function
    assert wait.train_function is next


def test_keras_trains_as_ever():
    class Timed(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            self.wait = DataWait.of(self.model)

    timed = Timed()
    keras.utils.set_random_seed(0)
    alone = run(epochs=2, batch_size=3)
    keras.utils.set_random_seed(0)
    assert run(timed, epochs=2, batch_size=3) == alone
    assert np.isfinite(alone["loss"]).all() and timed.wait.seconds > 0
