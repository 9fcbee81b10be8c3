"""The Gaussian error linear unit, whose gradient saves few activations."""

import math

import tensorflow as tf

from keras_attn.ops.loop_invariant import inside_loop
from keras_attn.ops.recompute import not_before

_SLOPE = math.sqrt(2 / math.pi)
_CUBE = 0.044715


def gelu(x, approximate: bool = False):
    """Weigh numbers by how much of a normal distribution lies below them.

        exact:        x Φ(x) = x (1 + erf(x / √2)) / 2
        approximate:  x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2

    Written with its gradient, which keeps `x` alone; TensorFlow would keep
    every number in between.

    Args:
        x: Floats of any shape.
        approximate: Whether to go by tanh, with which GPT-2 was trained.

    Returns:
        Like `x`.

    Reference:
        Hendrycks and Gimpel 2016, section 2. https://arxiv.org/abs/1606.08415
    """
    slope = _tanh_slope if approximate else _erf_slope

    @tf.custom_gradient
    def weigh(x):
        def gradient(upstream):
            return upstream * slope(*not_before(upstream, x))

        return tf.nn.gelu(x, approximate), gradient

    x = tf.convert_to_tensor(x)
    # A step of decoding has no gradient to save for, and ops to save.
    return tf.nn.gelu(x, approximate) if inside_loop() else weigh(x)


def _erf_slope(x):
    below = 0.5 * (1 + tf.math.erf(x * math.sqrt(0.5)))
    density = tf.exp(-0.5 * tf.square(x)) * (_SLOPE / 2)
    return below + x * density


def _tanh_slope(x):
    square = tf.square(x)
    curve = tf.tanh(_SLOPE * x * (1 + _CUBE * square))
    steepness = _SLOPE * (1 + 3 * _CUBE * square)
    return 0.5 * (1 + curve + x * (1 - tf.square(curve)) * steepness)
