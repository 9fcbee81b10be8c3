"""Vectors into heads, and heads into vectors."""

import math

import keras
from keras import ops

from keras_attn.ops.loop_invariant import before_loop
from keras_attn.ops.loop_invariant import shared_product
from keras_attn.ops.split import split_matmul


def project_each(inputs, projections) -> list:
    """Project each of the inputs, in one product if they are all the same.

    Self-attention then reads its input once, and the gradient of the input is
    one product instead of three and two sums.

    Args:
        inputs: Tensors, (batch, ..., features).
        projections: As many projections.

    Returns:
        A list of (batch, ..., heads, depth).
    """
    x = inputs[0]
    if not all(each is x for each in inputs) or not all(
        _is_plain(projection, x) for projection in projections
    ):
        pairs = zip(projections, inputs, strict=True)
        return [projection(each) for projection, each in pairs]
    # Rows × features: where lengths are unknown, a product of more axes has
    # many ops of shapes around it.
    rows = ops.reshape(x, (-1, x.shape[-1]))
    parts = split_matmul(rows, *_side_by_side(projections, x.dtype))
    axes = ops.shape(x)[:-1]
    return [
        ops.reshape(part, (*axes, *projection.kernel.shape[1:]))
        for part, projection in zip(parts, projections, strict=True)
    ]


def project_rows(x, projections) -> list:
    """Project the vectors of one step, in one product of rows × features.

        output = x [W_1, W_2, …] + [b_1, b_2, …]

    The weights are laid side by side once, before the loop that steps.

    Args:
        x: (rows, features).
        projections: Projections to (…, heads, depth).

    Returns:
        A list of (rows, heads · depth).
    """
    if not all(_is_plain(projection, x) for projection in projections):
        heads = [projection(x[:, None]) for projection in projections]
        return [ops.reshape(h, (-1, math.prod(h.shape[2:]))) for h in heads]
    joined = before_loop(lambda: _side_by_side(projections, x.dtype))
    return split_matmul(x, *joined)


def project_query(query, dense):
    """Project queries; of a recurrent step, as a product that steps share.

    Args:
        query: (batch, query, features).
        dense: A `keras.layers.Dense`.

    Returns:
        (batch, query, units).
    """
    if query.shape[1] != 1 or not _is_plain(dense, query):
        return dense(query)
    kernel = before_loop(lambda: ops.cast(dense.kernel, query.dtype))
    rows = shared_product(ops.squeeze(query, 1), kernel)
    if dense.bias is not None:
        rows = ops.add(rows, ops.cast(dense.bias, query.dtype))
    return ops.expand_dims(rows, 1)


def output_rows(x, projection, depth: int):
    """Project the heads of one step back to vectors.

    Args:
        x: (rows, heads · depth).
        projection: The projection from (…, heads, depth).
        depth: Of a head.

    Returns:
        (rows, features), or more axes if the projection makes them.
    """
    if not _is_plain(projection, x):
        heads = x.shape[-1] // depth
        return projection(ops.reshape(x, (-1, 1, heads, depth)))[:, 0]
    outputs = projection.kernel.shape[2:]
    shape = (x.shape[-1], math.prod(outputs))
    # In the loop, XLA would fuse the reshape with the product of one row, and
    # make that without its kernel for products: 10 times slower on a CPU.
    kernel = before_loop(
        lambda: ops.cast(ops.reshape(projection.kernel, shape), x.dtype)
    )
    x = ops.matmul(x, kernel)
    if projection.bias is not None:
        bias = ops.reshape(ops.cast(projection.bias, x.dtype), (-1,))
        x = ops.add(x, bias)
    return ops.reshape(x, (-1, *outputs)) if len(outputs) > 1 else x


def _is_plain(projection, x):
    """Whether it is x W + b, and nothing needs to know that it was called."""
    return (
        type(projection) in (keras.layers.Dense, keras.layers.EinsumDense)
        and projection.compute_dtype == keras.backend.standardize_dtype(x.dtype)
        and projection.quantization_mode is None
        and projection.activation is keras.activations.linear
        and projection.activity_regularizer is None
        and not projection.lora_enabled
    )


def _side_by_side(projections, dtype):
    """Join kernels to (features, sum of sizes), and the biases; the sizes."""
    kernels = [
        ops.reshape(each.kernel, (each.kernel.shape[0], -1))
        for each in projections
    ]
    # Keras casts weights within a call only, and a step is none.
    kernel = ops.cast(ops.concatenate(kernels, axis=1), dtype)
    sizes = [math.prod(each.kernel.shape[1:]) for each in projections]
    if projections[0].bias is None:
        return kernel, None, sizes
    biases = [ops.reshape(each.bias, (-1,)) for each in projections]
    return kernel, ops.cast(ops.concatenate(biases, axis=0), dtype), sizes
