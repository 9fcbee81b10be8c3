import numpy as np
import pytest
import tensorflow as tf

from keras_attn.modifiers.qk_norm import QKNorm


def built(**settings):
    modifier = QKNorm(**settings)
    modifier.build((None, None, 3, 4), (None, None, 1, 4))
    return modifier


@pytest.mark.parametrize("side", ["query", "key"])
def test_divides_by_the_root_of_the_mean_square(side, rng):
    modifier = built(epsilon=0.1)
    scales = {"query": [1.0, 2.0, 3.0, 4.0], "key": [5.0, 6.0, 7.0, 8.0]}
    modifier.query_scale.assign(scales["query"])
    modifier.key_scale.assign(scales["key"])
    heads = rng.normal(size=(2, 5, 3, 4))
    actual = getattr(modifier, f"{side}_heads")(tf.constant(heads), None)
    root = np.sqrt((heads**2).mean(-1, keepdims=True) + 0.1)
    np.testing.assert_allclose(actual, heads / root * scales[side], rtol=1e-12)


def test_half_precision_does_not_overflow():
    query = tf.constant([[[[3e4, -3e4, 0.0, 0.0]]]], "float16")
    actual = built().query_heads(query, None)
    assert actual.dtype == "float16"
    expected = [[[[2**0.5, -(2**0.5), 0, 0]]]]
    np.testing.assert_allclose(actual, expected, rtol=1e-3)


def test_the_gradient_computes_anew_what_it_would_have_to_keep():
    modifier = built()

    @tf.function
    def gradient(query):
        with tf.GradientTape() as tape:
            tape.watch(query)
            output = modifier.query_heads(query, None)
        return tape.gradient(output, query)

    graph = gradient.get_concrete_function(tf.ones((2, 5, 3, 4))).graph
    kinds = [op.type for op in graph.get_operations()]
    assert kinds.count("Rsqrt") == 2


def test_a_head_of_zeros_has_a_finite_gradient():
    query = tf.zeros((1, 1, 3, 4))
    with tf.GradientTape() as tape:
        tape.watch(query)
        output = built().query_heads(query, None)
    np.testing.assert_array_equal(output, query)
    assert np.isfinite(tape.gradient(output, query)).all()


def test_rejects_an_epsilon_that_lets_zeros_through():
    with pytest.raises(ValueError, match=r"`epsilon`.*epsilon=0"):
        QKNorm(epsilon=0)
