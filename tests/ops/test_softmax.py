import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.softmax import lowest_logit
from keras_attn.ops.softmax import masked_softmax


def test_without_a_mask_it_is_softmax():
    np.testing.assert_allclose(
        masked_softmax(np.log([[1.0, 3.0]])), [[0.25, 0.75]], rtol=1e-12
    )


def test_masked_positions_get_nothing():
    weights = masked_softmax(np.log([[1.0, 3.0, 4.0]]), [[True, True, False]])
    np.testing.assert_allclose(weights, [[0.25, 0.75, 0.0]], rtol=1e-12)


def test_a_sink_takes_its_share_and_looks_at_nothing():
    weights = masked_softmax(
        np.log([[1.0, 3.0, 5.0]]), [[True, True, False]], np.log([[4.0]])
    )
    np.testing.assert_allclose(weights, [[0.125, 0.375, 0.0]], rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_row_with_nothing_to_see_is_zero(dtype):
    scores = np.array([[6e4, 6e4]], dtype)
    weights = masked_softmax(scores, [[False, False]])
    assert weights.dtype == dtype
    np.testing.assert_array_equal(weights, [[0.0, 0.0]])


def test_a_row_with_nothing_to_see_has_a_zero_gradient():
    scores = tf.constant([[6e4, -6e4], [1.0, 2.0]])
    mask = tf.constant([[False, False], [True, True]])
    with tf.GradientTape() as tape:
        tape.watch(scores)
        loss = tf.reduce_sum(masked_softmax(scores, mask)[:, 0])
    gradient = tape.gradient(loss, scores).numpy()
    np.testing.assert_array_equal(gradient[0], 0.0)
    assert gradient[1].all()


def test_extreme_half_precision_scores_stay_finite():
    scores = np.array([[6.5e4, -6.5e4, 6.5e4]], "float16")
    np.testing.assert_array_equal(masked_softmax(scores), [[0.5, 0.0, 0.5]])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_the_lowest_logit_is_finite_and_gets_nothing(dtype):
    low = lowest_logit(dtype)
    assert low.dtype == dtype and np.isfinite(float(low))
    weights = tf.nn.softmax(tf.stack([low, tf.zeros((), dtype)]))
    assert weights.numpy().tolist() == [0, 1]
