import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.gelu import gelu

X = np.array([-30.0, -3.0, -0.7, 0.0, 1e-3, 0.5, 2.0, 30.0])


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_it_and_its_gradients_are_those_of_tensorflow(approximate, jit_compile):
    def slopes(function):
        @tf.function(jit_compile=jit_compile)
        def run(x):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    output = function(x, approximate)
                first = inner.gradient(output, x)
            return output, first, outer.gradient(first, x)

        return run(tf.constant(X))

    for ours, theirs in zip(slopes(gelu), slopes(tf.nn.gelu), strict=True):
        # TensorFlow writes its constants with single precision.
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_stays(dtype):
    x = tf.cast(X, dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        output = gelu(x, approximate=True)
    gradient = tape.gradient(output, x)
    assert output.dtype == gradient.dtype == dtype
    assert np.all(np.isfinite(tf.cast(gradient, "float32")))
