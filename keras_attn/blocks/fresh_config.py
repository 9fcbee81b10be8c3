"""Configs from which each reading makes an object of its own."""

import copy

import keras


def unshared(value):
    """Serialise a value, without Keras' note of which objects are the same.

    While Keras loads a file, a config with such a note gives the same object
    each time it is read, and blocks that are to have a modifier each would
    have one in common.

    Args:
        value: What `keras.saving.serialize_keras_object` takes.

    Returns:
        Its config, of plain Python values.
    """
    return _without_note(keras.saving.serialize_keras_object(value))


def restored(config):
    """Make the object of a config, which stays as it is.

    `keras.layers.StackedRNNCells` takes its own apart.
    """
    return keras.saving.deserialize_keras_object(copy.deepcopy(config))


def _without_note(config):
    if isinstance(config, dict):
        return {
            key: _without_note(value)
            for key, value in config.items()
            if key != "shared_object_id"
        }
    if isinstance(config, (list, tuple)):
        return type(config)(_without_note(value) for value in config)
    return config
