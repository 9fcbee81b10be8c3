import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.normalization import layer_norm
from keras_attn.ops.normalization import rms_norm

EPSILON = 1e-3


def layer_norm_as_written(x, gamma, beta):
    mean = tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean((x - mean) ** 2, axis=-1, keepdims=True)
    return gamma * (x - mean) / tf.sqrt(variance + EPSILON) + beta


def rms_norm_as_written(x, gamma):
    square = tf.reduce_mean(x**2, axis=-1, keepdims=True)
    return gamma * x / tf.sqrt(square + EPSILON)


CASES = {
    "layer": (layer_norm, layer_norm_as_written, 2),
    "rms": (rms_norm, rms_norm_as_written, 1),
}


def derivatives(function, inputs, upstream):
    """The output, its gradients, and the gradients of one of these."""
    with tf.GradientTape() as outer:
        outer.watch(inputs)
        with tf.GradientTape() as inner:
            inner.watch(inputs)
            output = function(*inputs)
        first = inner.gradient(output, inputs, upstream)
        squared = tf.reduce_sum(first[0] ** 2)
    return [output, *first, *outer.gradient(squared, inputs)[:2]]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5)], ids=str)
@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_it_and_its_gradients_are_as_written(case, shape, jit_compile, rng):
    ours, written, weights = CASES[case]
    inputs = [tf.constant(rng.normal(size=shape, loc=1.0))]
    inputs += [tf.constant(rng.normal(size=5)) for _ in range(weights)]
    upstream = tf.constant(rng.normal(size=shape))

    @tf.function(jit_compile=jit_compile)
    def run(inputs, upstream):
        return derivatives(
            lambda *x: ours(*x, epsilon=EPSILON), inputs, upstream
        )

    expected = derivatives(written, inputs, upstream)
    for result, wanted in zip(run(inputs, upstream), expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("case", CASES)
def test_large_numbers_of_half_precision_do_not_overflow(case, rng):
    function, written, weights = CASES[case]
    x = tf.constant(rng.normal(size=(4, 5), scale=2e4), tf.float16)
    parameters = [tf.ones(5), tf.zeros(5)][:weights]
    with tf.GradientTape() as tape:
        tape.watch(x)
        output = function(x, *parameters, epsilon=EPSILON)
    gradient = tape.gradient(output, x)
    assert output.dtype == gradient.dtype == "float16"
    np.testing.assert_allclose(
        output, written(tf.cast(x, tf.float32), *parameters), atol=2e-3
    )
    assert np.all(np.isfinite(gradient))


@pytest.mark.parametrize("case", CASES)
def test_no_rows_are_no_trouble(case):
    function, _, weights = CASES[case]
    x = tf.zeros((0, 3, 5))
    parameters = [tf.Variable(tf.ones(5)) for _ in range(weights)]
    with tf.GradientTape() as tape:
        output = function(x, *map(tf.identity, parameters), epsilon=EPSILON)
    assert output.shape == (0, 3, 5)
    for gradient in tape.gradient(output, parameters):
        np.testing.assert_array_equal(gradient, np.zeros(5))
