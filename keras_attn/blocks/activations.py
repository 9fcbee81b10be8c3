"""Nonlinearities by name: Keras' own, and GELU that saves few activations."""

import keras

from keras_attn.ops import gelu as gaussian


@keras.saving.register_keras_serializable(package="keras_attn")
def gelu(x):
    """GELU by the error function: x (1 + erf(x / √2)) / 2."""
    return gaussian.gelu(x)


@keras.saving.register_keras_serializable(package="keras_attn")
def gelu_tanh(x):
    """GELU by its tanh formula, with which GPT-2 was trained.

    x · (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2
    """
    return gaussian.gelu(x, approximate=True)


_OWN = {"gelu": gelu, "gelu_tanh": gelu_tanh}


def get(activation):
    """Find a nonlinearity by name; a function stays as it is."""
    if isinstance(activation, str) and activation in _OWN:
        return _OWN[activation]
    return keras.activations.get(activation)


def serialize(activation):
    """A name for the config."""
    for name, function in _OWN.items():
        if activation is function:
            return name
    return keras.activations.serialize(activation)
