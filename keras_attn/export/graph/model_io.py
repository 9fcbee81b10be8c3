"""A functional model by the names of its inputs and outputs."""

import collections
import re
from collections.abc import Mapping

import keras
import numpy as np
import tensorflow as tf


def is_functional(model: keras.Model) -> bool:
    """Whether a model knows its inputs and outputs."""
    return bool(getattr(model, "inputs", None))


def inputs(model: keras.Model) -> dict:
    """The inputs of a functional model.

    Returns:
        `KerasTensor`s by name: the keys of a dictionary, and else the names of
        the `Input`s. What is no letter, digit or _ in a name becomes _.
    """
    structure = _input_structure(model)
    tensors = keras.tree.flatten(structure)
    if isinstance(structure, dict) and len(structure) == len(tensors):
        # Keras flattens dictionaries in the order of their keys.
        return _by_name(sorted(structure), tensors)
    return _by_name([tensor.name for tensor in tensors], tensors)


def outputs(model: keras.Model) -> dict:
    """The outputs of a functional model.

    Returns:
        `KerasTensor`s by name: the keys of a dictionary, and else the names of
        the layers that they come from.
    """
    structure = _output_structure(model)
    tensors = keras.tree.flatten(structure)
    if isinstance(structure, dict) and len(structure) == len(tensors):
        return _by_name(sorted(structure), tensors)
    names = getattr(model, "output_names", None) or [model.layers[-1].name]
    return _by_name(names, tensors)


def vocabulary_sizes(model: keras.Model) -> dict[str, int]:
    """How many ids there are, for inputs that an embedding takes directly."""
    sizes = {}
    for layer in model.layers:
        # `TokenEmbedding` has the one, Keras' `Embedding` the other; in layers
        # that look up words it is a method.
        size = getattr(layer, "vocabulary_size", None)
        if isinstance(layer, keras.layers.Embedding):
            size = layer.input_dim
        if isinstance(size, int):
            for name, tensor in inputs(model).items():
                if layer.input is tensor:
                    sizes[name] = min(size, sizes.get(name, size))
    return sizes


def vocabularies(model: keras.Model) -> dict[str, np.ndarray]:
    """What a layer can look up, for inputs that it takes directly.

    Returns:
        Arrays of strings, as `bytes` objects, or of integers, by input.
    """
    found = {}
    lookups = (keras.layers.StringLookup, keras.layers.IntegerLookup)
    for layer in model.layers:
        if not isinstance(layer, lookups) or layer.invert:
            continue
        words = layer.get_vocabulary(include_special_tokens=False)
        for name, tensor in inputs(model).items():
            if layer.input is tensor and words:
                found[name] = _array(words, tensor.dtype)
    return found


def call(model: keras.Model, tensors: Mapping) -> dict:
    """Call a functional model as it answers, not as it trains.

    Args:
        tensors: (batch, ...) tensors by the names of `inputs(model)`.

    Returns:
        (batch, ...) tensors by the names of `outputs(model)`.
    """
    given = [
        tf.cast(tensors[name], tensor.dtype)
        for name, tensor in inputs(model).items()
    ]
    structure = keras.tree.pack_sequence_as(_input_structure(model), given)
    answer = keras.tree.flatten(model(structure, training=False))
    return dict(zip(outputs(model), answer, strict=True))


def _array(words, dtype):
    if dtype == "string":
        return np.array([str(word).encode() for word in words], object)
    return np.array(words, dtype)


def _input_structure(model):
    if isinstance(model, keras.Sequential):
        return model.inputs[0]
    return model.input


def _output_structure(model):
    if isinstance(model, keras.Sequential):
        return model.outputs[0]
    return model.output


def _by_name(names, tensors):
    """Tensors by name; a name that comes again gets a number."""
    seen, named = collections.Counter(), {}
    for name, tensor in zip(names, tensors, strict=True):
        name = re.sub(r"\W", "_", name)
        number = seen[name]
        seen[name] += 1
        named[f"{name}_{number}" if number else name] = tensor
    if len(named) != len(tensors):
        raise ValueError(
            f"The model has inputs or outputs of one name: {list(names)}. "
            "Give each its own."
        )
    return named
