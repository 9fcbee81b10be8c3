import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.recurrence import recur

MASK = np.array([[True, True, False, True], [False, True, False, False]])


def decayed(x, states):
    """Half of what was, and the new; the output is twice that."""
    (state,) = states
    state = 0.5 * state + x
    return {"doubled": 2 * state}, [state]


def expected(x, mask, go_backwards=False):
    outputs, last = np.zeros(x.shape), np.ones((len(x), x.shape[-1]))
    for row in range(len(x)):
        steps = range(x.shape[1])
        for t in reversed(steps) if go_backwards else steps:
            if mask[row, t]:
                last[row] = 0.5 * last[row] + x[row, t]
                outputs[row, t] = 2 * last[row]
    return outputs, last


def run(x, mask=None, **options):
    states = [tf.ones([tf.shape(x)[0], 3], x.dtype)]
    outputs, states = recur(decayed, x, states, mask=mask, **options)
    return outputs["doubled"], states[0]


@pytest.mark.parametrize("go_backwards", [False, True])
def test_matches_the_equation(go_backwards, rng):
    x = rng.normal(size=(2, 4, 3))
    for mask in (MASK, None):
        actual = run(tf.constant(x), mask, go_backwards=go_backwards)
        seen = np.ones_like(MASK) if mask is None else mask
        wanted = expected(x, seen, go_backwards)
        np.testing.assert_allclose(actual[0], wanted[0])
        np.testing.assert_allclose(actual[1], wanted[1])


def test_lengths_need_not_be_known_and_may_be_0(rng):
    spec = tf.TensorSpec([None, None, 3])
    function = tf.function(run, input_signature=[spec])
    for length in (4, 0):
        x = rng.normal(size=(2, length, 3)).astype("float32")
        outputs, last = function(x)
        assert outputs.shape == (2, length, 3)
        np.testing.assert_allclose(outputs, run(tf.constant(x))[0], rtol=1e-6)
    np.testing.assert_array_equal(last, np.ones((2, 3)))


def test_gradients_are_those_of_the_unrolled_steps_also_under_xla(rng):
    x = tf.constant(rng.normal(size=(2, 4, 3)), tf.float32)

    def gradient(x, mask):
        with tf.GradientTape() as tape:
            tape.watch(x)
            outputs, last = run(x, mask)
            loss = tf.reduce_sum(outputs**2) + tf.reduce_sum(last)
        return tape.gradient(loss, x)

    eager = gradient(x, tf.constant(MASK))
    compiled = tf.function(gradient, jit_compile=True)(x, tf.constant(MASK))
    np.testing.assert_allclose(compiled, eager, rtol=1e-5)
    # Padding has no say.
    np.testing.assert_array_equal(eager.numpy()[~MASK], 0.0)

    def loss(x):
        outputs, last = expected(x, MASK)
        return (outputs**2).sum() + last.sum()

    step = np.zeros(x.shape)
    step[0, 1, 2] = 1e-5
    exact = x.numpy().astype("float64")
    slope = (loss(exact + step) - loss(exact - step)) / 2e-5
    np.testing.assert_allclose(eager[0, 1, 2], slope, rtol=1e-4)
