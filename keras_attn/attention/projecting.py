"""Vectors into heads, and heads into vectors."""

import itertools
import math

import keras
from keras import ops


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
    first = inputs[0]
    if all(x is first for x in inputs) and all(
        _is_plain(projection, first) for projection in projections
    ):
        return _project_together(first, projections)
    pairs = zip(projections, inputs, strict=True)
    return [projection(x) for projection, x in pairs]


def _is_plain(projection, x):
    """Whether it is x W + b, and nothing needs to know that it was called."""
    return (
        type(projection) is keras.layers.EinsumDense
        and projection.compute_dtype == keras.backend.standardize_dtype(x.dtype)
        and projection.quantization_mode is None
        and projection.activity_regularizer is None
        and not projection.lora_enabled
    )


def _project_together(x, projections):
    shapes = [projection.kernel.shape[1:] for projection in projections]
    sizes = [math.prod(shape) for shape in shapes]
    kernels = [
        ops.reshape(projection.kernel, (x.shape[-1], size))
        for projection, size in zip(projections, sizes, strict=True)
    ]
    # Keras casts weights within a call only, and a step is none.
    heads = ops.matmul(x, ops.cast(ops.concatenate(kernels, axis=1), x.dtype))
    if projections[0].bias is not None:
        biases = [ops.reshape(each.bias, (-1,)) for each in projections]
        heads += ops.cast(ops.concatenate(biases, axis=0), x.dtype)
    ends = list(itertools.accumulate(sizes))[:-1]
    parts = ops.split(heads, ends, axis=-1)
    return [
        ops.reshape(part, (*ops.shape(x)[:-1], *shape))
        for part, shape in zip(parts, shapes, strict=True)
    ]
