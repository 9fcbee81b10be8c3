import json

import keras
import numpy as np

from keras_attn.training.resuming import callback_state
from tests.training.resuming import runs


def travel(callbacks, others):
    """Bring the states of callbacks to others, as a file would."""
    arrays = [np.zeros(1)]
    states = callback_state.capture(callbacks, arrays)
    callback_state.restore(others, json.loads(json.dumps(states)), arrays)


def test_early_stopping_remembers_its_best():
    stopping = keras.callbacks.EarlyStopping(
        monitor="loss", restore_best_weights=True, patience=3
    )
    model = runs.make_model()
    stopping.set_model(model)
    stopping.on_train_begin()
    weights = model.get_weights()
    stopping.on_epoch_end(0, {"loss": np.float32(1.1)})
    stopping.on_epoch_end(1, {"loss": 2.0})
    other = keras.callbacks.EarlyStopping(monitor="loss")
    travel([stopping], [other])
    assert (other.best, other.wait) == (np.float32(1.1), 1)
    assert (other.stopped_epoch, other.best_epoch) == (0, 0)
    np.testing.assert_array_equal(other.best_weights[0], weights[0])


def test_others_of_keras_remember_what_they_have():
    history = keras.callbacks.History()
    history.history, history.epoch = {"$loss": [1.0, np.float64(2)]}, [0, 1]
    rate = keras.callbacks.ReduceLROnPlateau()
    rate.best, rate.wait, rate.cooldown_counter = 0.5, 2, 1
    saving = keras.callbacks.ModelCheckpoint("x.keras")
    saving.best = 0.25
    board = keras.callbacks.TensorBoard("x")
    board._global_train_batch = 9
    callbacks = [history, rate, saving, board]
    others = [
        keras.callbacks.TensorBoard("x"),
        keras.callbacks.ModelCheckpoint("x.keras"),
        keras.callbacks.ReduceLROnPlateau(),
        keras.callbacks.History(),
    ]
    travel(callbacks, others)
    board, saving, rate, history = others
    assert board._global_train_batch == 9
    assert saving.best == 0.25
    assert (rate.best, rate.wait, rate.cooldown_counter) == (0.5, 2, 1)
    assert (history.history, history.epoch) == ({"$loss": [1, 2]}, [0, 1])


class Own(keras.callbacks.Callback):
    def __init__(self, seen):
        super().__init__()
        self.seen = seen

    def get_state(self):
        return {"seen": self.seen, "more": (None, "text")}

    def set_state(self, state):
        assert state["more"] == [None, "text"]
        self.seen = state["seen"]


def test_your_own_are_asked_and_told_apart_by_order():
    others = [Own(None), keras.callbacks.Callback(), Own(None), Own("new")]
    travel([Own(np.arange(3)), Own(4)], others)
    np.testing.assert_array_equal(others[0].seen, [0, 1, 2])
    assert (others[2].seen, others[3].seen) == (4, "new")
