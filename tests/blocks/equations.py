"""Blocks in float64 NumPy, written from the papers' equations."""

import math

import numpy as np

from tests import oracle

EPSILON = 1e-5


def gelu(x):
    """x Φ(x), by the error function."""
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def silu(x):
    """x sigmoid(x)."""
    return x / (1 + np.exp(-x))


def relu(x):
    """The greater of 0 and x."""
    return np.maximum(x, 0.0)


ACTIVATIONS = {"relu": relu, "gelu": gelu, "silu": silu}


def normalize(layer, x, kind, batch=None):
    """Layer, root-mean-square or batch normalisation, with `layer`'s weights.

    `batch` says, in training, which positions its statistics are taken of.
    """
    weights = [w.numpy().astype("float64") for w in layer.weights]
    if kind == "rms":
        (scale,) = weights
        return scale * x / np.sqrt(np.mean(x**2, -1, keepdims=True) + EPSILON)
    if kind == "batch":
        scale, shift, mean, variance = weights
        if batch is not None:
            mean, variance = x[batch].mean(axis=0), x[batch].var(axis=0)
        return scale * (x - mean) / np.sqrt(variance + EPSILON) + shift
    scale, shift = weights
    centred = x - x.mean(-1, keepdims=True)
    variance = np.mean(centred**2, -1, keepdims=True)
    return scale * centred / np.sqrt(variance + EPSILON) + shift


def project(dense, x):
    """x W + b over as many axes as W has in front of b's."""
    kernel, bias = (w.numpy().astype("float64") for w in dense.weights)
    return np.tensordot(x, kernel, kernel.ndim - bias.ndim) + bias


def attend(layer, query, value, mask=None, causal=False):
    """Multi-head attention with `layer`'s weights; also its weights."""
    heads, weights = oracle.attention(
        project(layer.query_dense, query),
        project(layer.key_dense, value),
        project(layer.value_dense, value),
        mask=None if mask is None else mask[:, None, None],
        causal=causal,
        query_positions=np.arange(query.shape[1])[None],
    )
    return project(layer.output_dense, heads), weights


def feed_forward(layer, x, activation):
    """W_2 activation(W_1 x + b_1) + b_2, gated by W_3 x + b_3 if it is."""
    gated = {"swiglu": "silu", "geglu": "gelu"}
    hidden = ACTIVATIONS[gated.get(activation, activation)](
        project(layer.hidden_dense, x)
    )
    if activation in gated:
        hidden = hidden * project(layer.value_dense, x)
    return project(layer.output_dense, hidden)


def residual(layer, x, sublayer, *, norm, normalization, batch=None):
    """norm(x + sublayer(x)), x + sublayer(norm(x)), or with one more norm."""
    kind = {"kind": normalization, "batch": batch}
    if norm == "both":
        y = sublayer(normalize(layer.normalize, x, **kind))
        return x + normalize(layer.normalize_output, y, **kind)
    if norm == "pre":
        return x + sublayer(normalize(layer.normalize, x, **kind))
    return normalize(layer.normalize, x + sublayer(x), **kind)


def randomise(layer, rng):
    """Give all weights numbers: ones and zeros hide that they are read."""
    for weight in layer.weights:
        if "seed" not in weight.path:
            value = rng.normal(size=weight.shape, scale=0.5)
            variance = weight.path.endswith("moving_variance")
            weight.assign(0.5 + abs(value) if variance else value)
