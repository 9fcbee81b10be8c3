import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export.tasks.task import Task


class Doubling(Task):
    def signatures(self):
        return []


def test_weights_are_saved_once(tmp_path):
    model = keras.Sequential([keras.Input((50,)), keras.layers.Dense(60)])
    task = Doubling(model)
    assert task.model is model
    tf.saved_model.save(task, tmp_path)
    raw = sum(np.prod(weight.shape) * 4 for weight in model.weights)
    (data,) = (tmp_path / "variables").glob("variables.data*")
    assert raw <= data.stat().st_size < 1.05 * raw


def test_what_is_asked_is_for_each_task_to_say():
    with pytest.raises(TypeError, match="signatures"):
        Task(keras.Sequential([keras.Input((5,)), keras.layers.Dense(6)]))
