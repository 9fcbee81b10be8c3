import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.losses.token_losses import token_losses
from tests.training import cases

SMOOTHINGS = pytest.mark.parametrize("smoothing", [0.0, 0.3])
MODES = pytest.mark.parametrize("compiled", [False, True], ids=["graph", "xla"])


def losses_and_gradient(labels, logits, weights, *, compiled=False, **options):
    """Return the losses and the gradient of their weighted sum."""
    logits = tf.convert_to_tensor(logits)

    @tf.function(jit_compile=compiled)
    def compute(logits):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            losses = token_losses(labels, logits, weights, **options)
            total = tf.reduce_sum(weights * losses)
        return losses, tape.gradient(total, logits)

    return [tensor.numpy() for tensor in compute(logits)]


@SMOOTHINGS
@MODES
def test_matches_the_equation(smoothing, compiled, rng):
    labels, logits = cases.padded_batch(rng)
    losses, gradient = losses_and_gradient(
        labels, logits, np.ones((2, 6)), smoothing=smoothing, compiled=compiled
    )

    def loss_at(row, column, logits):
        ones = np.zeros((2, 6))
        ones[row, column] = 1.0
        return cases.mean_crossentropy(labels, logits, ones, smoothing)

    expected = [
        [loss_at(row, column, logits) for column in range(6)]
        for row in range(2)
    ]
    np.testing.assert_allclose(losses, expected, rtol=1e-12)
    np.testing.assert_allclose(
        gradient,
        12
        * cases.slopes(
            lambda z: cases.mean_crossentropy(
                labels, z, np.ones((2, 6)), smoothing
            ),
            logits,
        ),
        atol=1e-8,
    )


@SMOOTHINGS
@MODES
@pytest.mark.parametrize("content", [np.nan, np.inf, 1e30])
def test_hidden_logits_may_be_anything(content, smoothing, compiled, rng):
    labels, logits = cases.padded_batch(rng)
    logits = logits.astype("float32")
    real = cases.real_positions()
    clean = losses_and_gradient(
        labels, logits, real.astype("float32"), smoothing=smoothing
    )
    logits[~real] = content
    dirty = losses_and_gradient(
        labels,
        logits,
        real.astype("float32"),
        smoothing=smoothing,
        compiled=compiled,
    )
    for expected, found in zip(clean, dirty, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(found[~real], 0.0)


@SMOOTHINGS
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_computed_in_single(dtype, smoothing, rng):
    labels, logits = cases.padded_batch(rng)
    logits = tf.cast(logits, dtype)
    ones = np.ones((2, 6), "float32")
    half = losses_and_gradient(labels, logits, ones, smoothing=smoothing)
    single = losses_and_gradient(
        labels, tf.cast(logits, "float32"), ones, smoothing=smoothing
    )
    assert half[0].dtype == "float32"
    np.testing.assert_array_equal(half[0], single[0])
    assert half[1].dtype == dtype
    np.testing.assert_array_equal(half[1], tf.cast(single[1], dtype))


def test_great_half_precision_logits_stay_finite():
    logits = np.array([[[6e4, -6e4, 6e4]]], "float16")
    losses, gradient = losses_and_gradient(
        [[0]], logits, np.ones((1, 1), "float32"), smoothing=0.3
    )
    # The mean of the logits is a third of one, and log 2 is lost beside it.
    one = float(np.float16(6e4))
    np.testing.assert_allclose(losses, [[0.3 * (one - one / 3)]], rtol=1e-4)
    np.testing.assert_allclose(gradient, [[[-0.3, -0.1, 0.4]]], rtol=1e-3)


def test_no_one_hot_tensor_is_made(rng):
    labels, _ = cases.padded_batch(rng)
    ones = tf.ones((2, 6), "float64")
    graph = tf.function(
        lambda z: token_losses(labels, z, ones, smoothing=0.3)
    ).get_concrete_function(tf.TensorSpec((2, 6, 7), "float64"))
    big = [
        operation.type
        for operation in graph.graph.get_operations()
        for output in operation.outputs
        if output.shape.num_elements() == 2 * 6 * 7
    ]
    # The logits pass through; only the fused op makes anything so big.
    made = set(big) - {"Placeholder", "Reshape", "Identity", "IdentityN"}
    assert made == {"SparseSoftmaxCrossEntropyWithLogits"}


@MODES
def test_an_empty_batch_has_no_losses(compiled):
    losses, gradient = losses_and_gradient(
        np.zeros((0, 3), "int32"),
        np.zeros((0, 3, 4), "float32"),
        np.zeros((0, 3), "float32"),
        smoothing=0.3,
        compiled=compiled,
    )
    assert losses.shape == (0, 3)
    assert gradient.shape == (0, 3, 4)


def test_one_trace_serves_every_shape(rng):
    @tf.function(
        input_signature=[
            tf.TensorSpec((None, None), "int32"),
            tf.TensorSpec((None, None, None), "float32"),
        ]
    )
    def gradient(labels, logits):
        ones = tf.ones(tf.shape(labels))
        with tf.GradientTape() as tape:
            tape.watch(logits)
            losses = token_losses(labels, logits, ones, smoothing=0.3)
        return tape.gradient(losses, logits)

    for shape in [(2, 3, 5), (4, 1, 7)]:
        logits = rng.normal(size=shape).astype("float32")
        found = gradient(np.ones(shape[:2], "int32"), logits)
        target = 0.7 * np.eye(shape[-1])[1] + 0.3 / shape[-1]
        np.testing.assert_allclose(
            found, np.exp(cases.log_softmax(logits)) - target, atol=1e-6
        )


@SMOOTHINGS
def test_hidden_losses_have_no_gradient_however_they_are_summed(smoothing, rng):
    labels, logits = cases.padded_batch(rng)
    logits = tf.constant(logits)
    real = cases.real_positions()
    weights = real.astype("float64")
    with tf.GradientTape() as tape:
        tape.watch(logits)
        losses = token_losses(labels, logits, weights, smoothing=smoothing)
    gradient = tape.gradient(losses, logits).numpy()
    np.testing.assert_array_equal(gradient[~real], 0.0)
    assert gradient[real].all()
