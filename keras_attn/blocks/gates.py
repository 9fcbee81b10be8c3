"""The equations of Keras' cells, with the products of their inputs given."""

from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from keras_attn.ops.loop_invariant import before_loop
from keras_attn.ops.loop_invariant import shared_product


class Projected(NamedTuple):
    """What a cell makes of its inputs alone, for one step or for all.

        product(t) = W x(t) + b

    No step needs another's: one large product in front of a loop takes less
    time than many small ones in it, and so does its gradient.

    Args:
        product: (batch, gates), or (time, batch, gates).
    """

    product: Any


def project(cell, inputs, training=None):
    """Make the products of all steps at once, if the cell is one of Keras'.

    Args:
        cell: A built cell.
        inputs: (time, batch, features), the first that the cell is fed; more
            may follow in each step.
        training: Whether anything is dropped.

    Returns:
        `Projected`; or the inputs, if the cell is not known or drops some.
    """
    if type(cell) not in _STEPS:
        return inputs
    if training and (cell.dropout or cell.recurrent_dropout):
        return inputs
    dtype = cell.compute_dtype
    kernel = ops.cast(cell.kernel, dtype)[: inputs.shape[-1]]
    # Rows × features: TensorFlow makes one op of a product and a BiasAdd.
    rows = ops.reshape(ops.cast(inputs, dtype), (-1, inputs.shape[-1]))
    product = ops.matmul(rows, kernel)
    if cell.use_bias:
        bias = ops.cast(cell.bias, dtype)
        # A GRU that resets after its product has another bias there.
        bias = bias[0] if len(bias.shape) == 2 else bias
        product = ops.add(product, bias)
    axes = (*ops.shape(inputs)[:2], product.shape[-1])
    return Projected(ops.reshape(product, axes))


def step(cell, projected: Projected, states: list, more=None):
    """Go one step of a cell of Keras.

    Args:
        cell: The cell.
        projected: One step of what `project` made.
        states: List of (batch, units).
        more: (batch, features) that the cell is fed besides; or None.

    Returns:
        (batch, units) and the list of new states.
    """
    dtype = cell.compute_dtype
    product = projected.product
    if more is not None:
        rows = _weight(cell.kernel, dtype, lambda w: w[-more.shape[-1] :])
        product += shared_product(ops.cast(more, dtype), rows)
    return _STEPS[type(cell)](cell, product, states)


def _step_simple(cell, product, states):
    (h,) = states
    recurrent = _weight(cell.recurrent_kernel, cell.compute_dtype)
    h = cell.activation(product + shared_product(h, recurrent))
    return h, [h]


def _step_gru(cell, product, states):
    (h,), units, dtype = states, cell.units, cell.compute_dtype
    gate, new = cell.recurrent_activation, cell.activation
    x_z, x_r, x_h = ops.split(product, 3, axis=-1)
    if cell.reset_after:
        inner = shared_product(h, _weight(cell.recurrent_kernel, dtype))
        if cell.use_bias:
            inner = ops.add(inner, _weight(cell.bias, dtype, lambda b: b[1]))
        h_z, h_r, h_h = ops.split(inner, 3, axis=-1)
        reset = gate(x_r + h_r)
        candidate = new(x_h + reset * h_h)
    else:
        kernel = cell.recurrent_kernel
        both = _weight(kernel, dtype, lambda w: w[:, : 2 * units])
        last = _weight(kernel, dtype, lambda w: w[:, 2 * units :])
        h_z, h_r = ops.split(shared_product(h, both), 2, axis=-1)
        reset = gate(x_r + h_r)
        candidate = new(x_h + shared_product(reset * h, last))
    update = gate(x_z + h_z)
    h = update * h + (1 - update) * candidate
    return h, [h]


def _step_lstm(cell, product, states):
    h, c = states
    gate, new = cell.recurrent_activation, cell.activation
    recurrent = _weight(cell.recurrent_kernel, cell.compute_dtype)
    i, f, g, o = ops.split(product + shared_product(h, recurrent), 4, axis=-1)
    c = gate(f) * c + gate(i) * new(g)
    h = gate(o) * new(c)
    return h, [h, c]


_STEPS = {
    keras.layers.GRUCell: _step_gru,
    keras.layers.LSTMCell: _step_lstm,
    keras.layers.SimpleRNNCell: _step_simple,
}


def _weight(weight, dtype, part=lambda weight: weight):
    """A weight, or a part of it, that is made once for all steps."""
    return before_loop(lambda: part(ops.cast(weight, dtype)))
