"""Recurrent decoders in float64 NumPy, written from the papers' equations."""

import numpy as np

from tests import oracle


def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def arrays(layer):
    """The weights of a layer, as float64."""
    return [w.numpy().astype("float64") for w in layer.weights]


def step_gru(cell, x, states):
    """Cho et al. 2014; Keras keeps the gates in the order z, r, candidate."""
    (h,), (kernel, recurrent, *bias) = states, arrays(cell)
    units = h.shape[-1]
    z, r, g = (slice(k * units, (k + 1) * units) for k in range(3))
    if cell.reset_after:
        (b, b_h) = bias[0] if bias else (np.zeros(3 * units),) * 2
        inner = h @ recurrent[:, g] + b_h[g]
    else:
        b, b_h = bias[0] if bias else np.zeros(3 * units), np.zeros(3 * units)
    wx = x @ kernel + b
    update = sigmoid(wx[:, z] + h @ recurrent[:, z] + b_h[z])
    reset = sigmoid(wx[:, r] + h @ recurrent[:, r] + b_h[r])
    if cell.reset_after:
        candidate = np.tanh(wx[:, g] + reset * inner)
    else:
        candidate = np.tanh(wx[:, g] + (reset * h) @ recurrent[:, g])
    h = update * h + (1 - update) * candidate
    return h, [h]


def step_lstm(cell, x, states):
    """Hochreiter and Schmidhuber 1997; in the order i, f, candidate, o."""
    (h, c), (kernel, recurrent, *bias) = states, arrays(cell)
    gates = x @ kernel + h @ recurrent + sum(bias)
    i, f, g, o = np.split(gates, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return h, [h, c]


def step_simple(cell, x, states):
    """Elman 1990."""
    (h,), (kernel, recurrent, *bias) = states, arrays(cell)
    h = np.tanh(x @ kernel + h @ recurrent + sum(bias))
    return h, [h]


STEPS = {
    "GRUCell": step_gru,
    "LSTMCell": step_lstm,
    "SimpleRNNCell": step_simple,
}


def step_cell(cell, x, states):
    """One step of a cell or of a stack; the states are a list of lists."""
    after = []
    for each, own in zip(getattr(cell, "cells", [cell]), states, strict=True):
        x, own = STEPS[type(each).__name__](each, x, own)
        after.append(own)
    return x, after


def location_features(attention, location):
    """F * location: (batch, key, filters) of (batch, key, 2)."""
    kernel = np.array(attention.location_filters.kernel)
    half, length = len(kernel) // 2, location.shape[1]
    padded = np.pad(location, [(0, 0), (half, half), (0, 0)])
    return sum(
        padded[:, k : k + length] @ each for k, each in enumerate(kernel)
    )


def scores(attention, query, memory, mask, location):
    """(batch, key) scores, and the gains of the weights."""
    kind = type(attention).__name__
    if kind == "DotAttention":
        return np.einsum("bf,bkf->bk", query, memory), 1.0
    if kind == "MultiplicativeAttention":
        (w,) = arrays(attention)
        return np.einsum("bf,fg,bkg->bk", query, w, memory), 1.0
    if kind in ("AdditiveAttention", "LocationSensitiveAttention"):
        w_q, w_k = (
            x.kernel for x in (attention.query_dense, attention.key_dense)
        )
        hidden = (query @ w_q)[:, None] + memory @ np.array(w_k)
        if kind == "LocationSensitiveAttention":
            # Chorowski et al. 2015, equations 8 and 9.
            u = np.array(attention.location_dense.kernel)
            hidden = hidden + location_features(attention, location) @ u
        return np.tanh(hidden) @ np.array(attention.score_vector), 1.0
    # Luong's local attention, predictive.
    w_p = np.array(attention.position_dense.kernel)
    v_p = np.array(attention.position_vector)
    length = mask.sum(-1, keepdims=True)
    center = length * sigmoid(np.tanh(query @ w_p) @ v_p)[:, None]
    distance = np.arange(memory.shape[1]) - center
    found = np.einsum(
        "bf,fg,bkg->bk", query, np.array(attention.query_dense.kernel), memory
    )
    d = attention.half_width
    found = np.where(np.abs(distance) <= d, found, -np.inf)
    return found, np.exp(-(distance**2) / (2 * (d / 2) ** 2))


def attend(cell, query, memory, mask, location):
    """The context (batch, features) and the weights (batch, key).

    `location`, (batch, key, 2), becomes these weights and the sum of all.
    """
    found, gain = scores(cell.attention, query, memory, mask, location)
    weights = oracle.softmax(np.where(mask, found, -np.inf)) * gain
    context = np.einsum("bk,bkf->bf", weights, memory)
    if cell.gate:
        w, b = arrays(cell.gate_dense)
        context = sigmoid(query @ w + b) * context
    location[..., 0] = weights
    location[..., 1] += weights
    return context, weights


def decode(cell, inputs, memory, mask=None, states=None):
    """Run an `AttentionCell` as its papers do.

    Args:
        cell: The built cell.
        inputs: (batch, target, features).
        memory: (batch, key, features).
        mask: (batch, key) booleans.
        states: List of lists, one for each layer; zeros if not given.

    Returns:
        (batch, target, output), (batch, target, key) weights, and the flat
        list of last states.
    """
    batch = len(inputs)
    mask = np.ones(memory.shape[:2], "bool") if mask is None else mask
    stack = getattr(cell.cell, "cells", [cell.cell])
    if states is None:
        states = [
            [np.zeros((batch, s)) for s in np.atleast_1d(each.state_size)]
            for each in stack
        ]
    fed = np.zeros((batch, states[-1][0].shape[-1]))
    location = np.zeros((*memory.shape[:2], 2))
    location[np.arange(batch), mask.argmax(axis=-1), 0] = 1.0
    outputs, seen = [], []
    for t in range(inputs.shape[1]):
        x = inputs[:, t]
        if cell.context == "input":
            query = states[-1][0]
            context, weights = attend(cell, query, memory, mask, location)
            x = np.concatenate([x, context], axis=-1)
            output, states = step_cell(cell.cell, x, states)
        elif cell.context == "readout":
            s, states = step_cell(cell.cell, x, states)
            context, weights = attend(cell, s, memory, mask, location)
            output = np.concatenate([s, context], axis=-1)
        elif cell.context == "layer":
            s, below = step_cell(stack[0], x, states[:1])
            context, weights = attend(cell, s, memory, mask, location)
            output, above = np.concatenate([s, context], axis=-1), []
            for each, own in zip(stack[1:], states[1:], strict=True):
                output, own = step_cell(each, output, [own])
                above += own
            states = below + above
        else:
            x = np.concatenate([x, fed], axis=-1)
            s, states = step_cell(cell.cell, x, states)
            context, weights = attend(cell, s, memory, mask, location)
            (w_c,) = arrays(cell.attentional_dense)
            output = np.tanh(np.concatenate([context, s], axis=-1) @ w_c)
            fed = output
        outputs.append(output)
        seen.append(weights)
    flat = [state for own in states for state in own]
    if cell.context == "attentional":
        flat.append(fed)
    if type(cell.attention).__name__ == "LocationSensitiveAttention":
        flat.append(location)
    return np.stack(outputs, 1), np.stack(seen, 1), flat
