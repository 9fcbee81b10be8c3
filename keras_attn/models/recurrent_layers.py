"""Recurrent layers by the names of their cells."""

import keras

from keras_attn.base import argument_checks

LAYERS = {
    "lstm": keras.layers.LSTM,
    "gru": keras.layers.GRU,
    "simple": keras.layers.SimpleRNN,
}


def make_layer(kind: str, units: int, **options):
    """Make a recurrent layer, which uses cuDNN where there is a GPU.

    Args:
        kind: "lstm", "gru" or "simple", which is h = tanh(W x + U h + b).
        units: Length of its state h.
        **options: Further arguments of Keras' layer.

    Raises:
        ValueError: If there is no such cell, or `units` is no size.
    """
    argument_checks.choice(kind, "cell", LAYERS)
    units = argument_checks.integer(units, "units", at_least=1)
    return LAYERS[kind](units, **options)
