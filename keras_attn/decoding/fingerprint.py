"""What a model is made of, to know when its graphs are out of date."""

import weakref

import keras
import tensorflow as tf

_LAYERS = (keras.layers.Layer, tf.Module)
_PARTS = (*_LAYERS, keras.Variable, tf.Variable)
_GROUPS = (*_LAYERS, dict, list, tuple, set)


class Fingerprint:
    """The layers and weights of a model, as they are at this moment.

    A graph holds the layers, weights, dtypes and frozen parts that the model
    had when it was traced. The values of weights may change without harm.

    Args:
        model: A Keras model, or any object with layers as attributes.
    """

    def __init__(self, model):
        # An id would be given again once its object is gone, and what is noted
        # here must not keep the model.
        self._parts = [
            (weakref.ref(part), _state(part)) for part in _parts(model)
        ]

    def fits(self, model) -> bool:
        """Whether the model still has the same parts in the same state."""
        parts = _parts(model)
        return len(parts) == len(self._parts) and all(
            reference() is part and state == _state(part)
            for (reference, state), part in zip(self._parts, parts, strict=True)
        )


def _parts(model) -> list:
    """Every layer and variable, as often as something refers to it.

    By the attributes, and not by what Keras has tracked: that misses a layer
    which was put into a list instead of another.
    """
    parts, seen, waiting = [], set(), [model, vars(model)]
    kinds = {}  # of thousands of values, which have few types
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind not in kinds:
            kinds[kind] = [
                isinstance(value, each) for each in (_PARTS, _LAYERS, _GROUPS)
            ]
        is_part, is_layer, is_group = kinds[kind]
        if is_part:
            parts.append(value)
        if not is_group or id(value) in seen:
            continue
        seen.add(id(value))
        if is_layer:
            value = vars(value)
        waiting.extend(value.values() if isinstance(value, dict) else value)
    return parts


def _state(part):
    return (
        getattr(part, "trainable", None),
        getattr(part, "dtype_policy", None),
        getattr(part, "lora_enabled", None),
    )
