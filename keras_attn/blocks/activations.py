"""Nonlinearities by name, Keras' own and one that it lacks a name for."""

import keras


@keras.saving.register_keras_serializable(package="keras_attn")
def gelu_tanh(x):
    """GELU by its tanh formula, with which GPT-2 was trained.

    x · (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2
    """
    return keras.activations.gelu(x, approximate=True)


def get(activation):
    """Find a nonlinearity by name; a function stays as it is."""
    if activation == "gelu_tanh":
        return gelu_tanh
    return keras.activations.get(activation)


def serialize(activation):
    """A name for the config."""
    if activation is gelu_tanh:
        return "gelu_tanh"
    return keras.activations.serialize(activation)
