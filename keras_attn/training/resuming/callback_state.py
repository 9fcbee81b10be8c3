"""What callbacks remember from epoch to epoch."""

import keras
import numpy as np

# What Keras' callbacks keep in attributes. Others are asked.
_KEPT = {
    keras.callbacks.History: ("history", "epoch"),
    keras.callbacks.EarlyStopping: (
        *("wait", "stopped_epoch", "best", "best_weights", "best_epoch"),
    ),
    keras.callbacks.ReduceLROnPlateau: ("wait", "best", "cooldown_counter"),
    keras.callbacks.ModelCheckpoint: (
        *("best", "_batches_seen_since_last_saving", "_last_batch_seen"),
    ),
    # The steps of its figures; it has no public name for them.
    keras.callbacks.TensorBoard: ("_global_train_batch", "_global_test_batch"),
}

# In the place of an array; no metric is called so.
_ARRAY = "$array"


def capture(callbacks: list, arrays: list) -> list:
    """Ask callbacks for their states.

    One of your own has a state if it has `get_state()`, which returns what
    JSON can hold and arrays, and `set_state(state)`.

    Args:
        callbacks: Keras' and others.
        arrays: What is an array is added here.

    Returns:
        A row for each callback that has a state: its class and the state.
    """
    return [
        [type(each).__name__, _pack(state, arrays)]
        for each in callbacks
        if (state := _get(each)) is not None
    ]


def restore(callbacks: list, states: list, arrays: list) -> None:
    """Give callbacks the states that `capture` has returned.

    Those that were added since then begin anew, and states of those that are
    gone are passed over: callbacks of one class are told apart by order.
    """
    left = list(states)
    for each in callbacks:
        for row in left:
            if row[0] == type(each).__name__:
                _set(each, _unpack(row[1], arrays))
                left.remove(row)
                break


def _names(callback):
    for cls, names in _KEPT.items():
        if isinstance(callback, cls):
            return [name for name in names if hasattr(callback, name)]
    return None


def _get(callback):
    if hasattr(callback, "get_state"):
        return callback.get_state()
    names = _names(callback)
    if names is None:
        return None
    return {name: getattr(callback, name) for name in names}


def _set(callback, state):
    if hasattr(callback, "set_state"):
        callback.set_state(state)
        return
    for name, value in state.items():
        setattr(callback, name, value)


def _pack(value, arrays):
    if isinstance(value, dict):
        return {str(k): _pack(v, arrays) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_pack(v, arrays) for v in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    array = np.array(keras.ops.convert_to_numpy(value))
    if not array.shape:
        return array.item()
    arrays.append(array)
    return {_ARRAY: len(arrays) - 1}


def _unpack(value, arrays):
    if isinstance(value, dict):
        if value.keys() == {_ARRAY}:
            return arrays[value[_ARRAY]]
        return {k: _unpack(v, arrays) for k, v in value.items()}
    if isinstance(value, list):
        return [_unpack(v, arrays) for v in value]
    return value
