"""Vectors brought to one length, whose gradients save few activations."""

import tensorflow as tf

from keras_attn.ops.loop_invariant import inside_loop
from keras_attn.ops.recompute import not_before
from keras_attn.ops.scores import accumulation_dtype


def layer_norm(x, gamma, beta=None, *, epsilon: float, centred: bool = True):
    """Give every vector mean 0 and variance 1, then a scale and a shift.

        output = gamma (x - mean) / √(variance + epsilon) + beta

    Written with its gradient: the ops that TensorFlow would keep for it are
    four tensors like `x`; this keeps `x`, which the path around the sublayer
    keeps in any case.

    Args:
        x: (..., features) floats.
        gamma, beta: (features,); None for no shift.
        epsilon: Added to the variance.
        centred: Whether the mean is taken off; `rms_norm` leaves it.

    Returns:
        (..., features), in the dtype of `x`.

    Reference:
        Ba et al. 2016, section 3. https://arxiv.org/abs/1607.06450
    """

    def forward(x, gamma, *beta):
        normal, _ = _standardize(x, epsilon, centred=centred)
        output = normal * tf.cast(gamma, normal.dtype)
        for shift in beta:
            output += tf.cast(shift, normal.dtype)
        return tf.cast(output, x.dtype)

    @tf.custom_gradient
    def with_gradient(x, gamma, *beta):
        dtype = accumulation_dtype(x.dtype)

        def gradient(upstream):
            (late,) = not_before(upstream, x)
            normal, scale = _standardize(late, epsilon, centred=centred)
            upstream = tf.cast(upstream, dtype)
            inner = upstream * tf.cast(gamma, dtype)
            if centred:
                inner -= tf.reduce_mean(inner, axis=-1, keepdims=True)
            return (
                _back_to(x, _back(inner, normal, scale)),
                _back_to(gamma, upstream * normal),
                *(_back_to(shift, upstream) for shift in beta),
            )

        return forward(x, gamma, *beta), gradient

    # Tensors: a function with a gradient of its own may not see variables.
    weights = (gamma,) if beta is None else (gamma, beta)
    given = map(tf.convert_to_tensor, (x, *weights))
    # A step of decoding has no gradient to save for, and ops to save.
    return forward(*given) if inside_loop() else with_gradient(*given)


def rms_norm(x, gamma, *, epsilon: float):
    """Give every vector a mean square of 1, then a scale.

        output = gamma x / √(mean(x²) + epsilon)

    Args:
        x: (..., features) floats.
        gamma: (features,).
        epsilon: Added to the mean square.

    Returns:
        (..., features), in the dtype of `x`.

    Reference:
        Zhang and Sennrich 2019, section 4. https://arxiv.org/abs/1910.07467
    """
    return layer_norm(x, gamma, epsilon=epsilon, centred=False)


def _standardize(x, epsilon, *, centred):
    # Recomputed in the gradient, so that the gradient has a gradient itself.
    # Not in float16, for which 256² is too much.
    x = tf.cast(x, accumulation_dtype(x.dtype))
    if centred:
        x -= tf.reduce_mean(x, axis=-1, keepdims=True)
    square = tf.reduce_mean(tf.square(x), axis=-1, keepdims=True)
    scale = tf.math.rsqrt(square + tf.constant(epsilon, x.dtype))
    return x * scale, scale


def _back(inner, normal, scale):
    along = tf.reduce_mean(inner * normal, axis=-1, keepdims=True)
    return (inner - normal * along) * scale


def _back_to(tensor, gradient):
    """Sum over the axes that `tensor` lacks, in its dtype."""
    missing = gradient.shape.rank - tensor.shape.rank
    if missing:
        gradient = tf.reduce_sum(gradient, axis=list(range(missing)))
    return tf.cast(gradient, tensor.dtype)
