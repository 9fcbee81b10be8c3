"""Recurrent cells in NumPy, from the papers."""

import numpy as np


def run(cell, x, weights, states):
    """All steps of a layer.

    Args:
        cell: "lstm", "gru" or "simple".
        x: (batch, length, features).
        weights: Kernel, recurrent kernel and bias, as Keras lays them out.
        states: h, and for an LSTM c: (batch, units) each.

    Returns:
        (batch, length, units).
    """
    outputs = []
    for t in range(x.shape[1]):
        states = STEPS[cell](x[:, t], *states, *weights)
        outputs.append(states[0])
    return np.stack(outputs, axis=1)


def lstm(x, h, c, kernel, recurrent, bias):
    """Hochreiter and Schmidhuber 1997, with forget gates (Gers 2000)."""
    i, f, g, o = np.split(x @ kernel + h @ recurrent + bias, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru(x, h, kernel, recurrent, bias):
    """Cho et al. 2014, version 1, the reset gate after the product."""
    x_z, x_r, x_n = np.split(x @ kernel + bias[0], 3, axis=-1)
    h_z, h_r, h_n = np.split(h @ recurrent + bias[1], 3, axis=-1)
    z, r = sigmoid(x_z + h_z), sigmoid(x_r + h_r)
    return (z * h + (1 - z) * np.tanh(x_n + r * h_n),)


def simple(x, h, kernel, recurrent, bias):
    """Elman 1990."""
    return (np.tanh(x @ kernel + h @ recurrent + bias),)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


STEPS = {"lstm": lstm, "gru": gru, "simple": simple}
