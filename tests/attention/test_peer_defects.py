"""What other libraries' attention gets wrong, and ours must not."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.attention.additive import AdditiveAttention
from keras_attn.attention.dot import DotAttention
from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.attention.multiplicative import MultiplicativeAttention
from keras_attn.modifiers import SoftCap
from keras_attn.ops.attend import attention

IMPLEMENTATIONS = ["dense", "tiled"]


def masked(x, length):
    """A tensor that carries a Keras mask hiding all from `length` on."""
    x = tf.constant(x, "float32")
    x._keras_mask = tf.sequence_mask([length] * x.shape[0], x.shape[1])
    return x


def test_masks_stay_on_the_tensors_of_the_caller(rng):
    query = masked(rng.normal(size=(2, 3, 6)), 2)
    value = masked(rng.normal(size=(2, 5, 6)), 4)
    key = masked(rng.normal(size=(2, 5, 6)), 3)
    before = [x._keras_mask for x in (query, value, key)]
    output, weights = MultiHeadAttention(2, 4)(
        query, value, key, return_attention_scores=True
    )
    assert [x._keras_mask for x in (query, value, key)] == before
    assert output._keras_mask is query._keras_mask
    assert not hasattr(weights, "_keras_mask")


def test_masks_stay_on_symbolic_tensors():
    ids = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(9, 6, mask_zero=True)(ids)
    before = x._keras_mask
    output = MultiHeadAttention(2, 4)(x, x)
    assert x._keras_mask is before
    assert output._keras_mask is not None


def test_a_memory_that_two_layers_look_at_leaks_from_neither(rng):
    source = keras.Input((None,), dtype="int32")
    target = keras.Input((None, 6))
    memory = keras.layers.Embedding(9, 6, mask_zero=True)(source)
    first = MultiHeadAttention(2, 4)(target, memory)
    second = MultiHeadAttention(2, 4)(target, memory)
    model = keras.Model([source, target], [first, second])

    ids = np.array([[3, 1, 4], [1, 5, 2]])
    queries = rng.normal(size=(2, 4, 6)).astype("float32")
    expected = model([ids, queries])
    found = model([np.pad(ids, [(0, 0), (0, 5)]), queries])
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_looking_does_not_change_a_row_that_sees_nothing(
    dropout, implementation, rng
):
    x = rng.normal(size=(2, 5, 6)).astype("float32")
    mask = np.ones((2, 5, 5), "bool")
    mask[0, 2] = False
    layer = MultiHeadAttention(
        2, 4, dropout=dropout, implementation=implementation
    )
    output = layer(x, x, attention_mask=mask)
    looked, weights = layer(
        x, x, attention_mask=mask, return_attention_scores=True
    )
    np.testing.assert_allclose(looked, output, atol=1e-6)
    np.testing.assert_array_equal(output[0, 2], np.zeros(6))  # the bias
    np.testing.assert_array_equal(weights[0, :, 2], np.zeros((2, 5)))


def test_the_config_keeps_flash_attention():
    layer = MultiHeadAttention(2, 4, flash_attention=True, dropout=0.1)
    assert layer.get_config()["flash_attention"] is True


@pytest.mark.parametrize(
    ("query", "key", "axes", "wanted"),
    [
        ((3, 6), (5, 7), None, (None, 2, 3, 5)),
        ((None, 6), (5, 7), None, (None, 2, None, 5)),
        ((3, 4, 6), (3, 5, 7), 2, (None, 3, 2, 4, 5)),
        ((3, 4, 6), (5, 8, 7), None, (None, 2, 3, 4, 5, 8)),
    ],
)
def test_symbolic_weights_have_the_shape_of_the_real_ones(
    query, key, axes, wanted
):
    layer = MultiHeadAttention(2, 4, attention_axes=axes, dtype="bfloat16")
    inputs = [keras.Input(query), keras.Input(key)]
    output, weights = layer(*inputs, return_attention_scores=True)
    assert weights.shape == wanted
    assert weights.dtype == "bfloat16"

    batch = [np.ones([2] + [size or 3 for size in x]) for x in (query, key)]
    real, seen = keras.Model(inputs, [output, weights])(batch)
    assert seen.shape == tuple(
        a or b for a, b in zip(wanted, seen.shape, strict=True)
    )
    assert real.shape == (2, *batch[0].shape[1:])
    assert seen.dtype == "bfloat16"


def test_an_explicit_query_mask_counts(rng):
    x = rng.normal(size=(2, 5, 6)).astype("float32")
    query_mask = np.array([[True] * 5, [True] * 3 + [False] * 2])
    layer = MultiHeadAttention(2, 4, bias_initializer="ones")
    output, weights = layer(
        x, x, query_mask=query_mask, return_attention_scores=True
    )
    np.testing.assert_array_equal(output[1, 3:], np.ones((2, 6)))
    np.testing.assert_array_equal(weights[1, :, 3:], np.zeros((2, 2, 5)))
    np.testing.assert_allclose(output[0], layer(x, x)[0], atol=1e-6)
    np.testing.assert_allclose(output[1, :3], layer(x, x)[1, :3], atol=1e-6)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_large_heads_do_not_overflow_half_precision(dtype, implementation, rng):
    # 64 · 33 · 33 is more than float16 can hold; over √64 it is not.
    signs = rng.choice([-33.0, 33.0], size=(3, 2, 5, 2, 64))
    query, key, value = tf.unstack(tf.cast(signs, dtype))
    found = attention(query, key, value, implementation=implementation)
    expected = attention(*tf.unstack(tf.constant(signs, "float64")))
    assert found.dtype == dtype
    np.testing.assert_allclose(tf.cast(found, "float64"), expected, rtol=0.02)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_one_key_head_may_serve_all(implementation, rng):
    query = rng.normal(size=(2, 3, 4, 5))
    key, value = rng.normal(size=(2, 2, 7, 1, 5))
    np.testing.assert_allclose(
        attention(query, key, value, implementation=implementation),
        attention(query, key.repeat(4, axis=2), value.repeat(4, axis=2)),
        atol=1e-12,
    )


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_scores_may_be_capped(implementation, rng):
    query, key, value = 3 * rng.normal(size=(3, 1, 4, 1, 5))
    output = attention(
        query,
        key,
        value,
        modifiers=[SoftCap(2.0)],
        implementation=implementation,
    )
    scores = 2 * np.tanh(query[0, :, 0] @ key[0, :, 0].T / np.sqrt(5) / 2)
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.testing.assert_allclose(
        output[0, :, 0], weights @ value[0, :, 0], rtol=1e-6
    )


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_a_causal_step_sees_all_that_came_before_it(implementation, rng):
    query, key, value = rng.normal(size=(3, 2, 5, 2, 3))
    options = {"causal": True, "implementation": implementation}
    whole = attention(query, key, value, **options)
    step = attention(query[:, -1:], key, value, **options)
    np.testing.assert_allclose(step, whole[:, -1:], atol=1e-12)


def test_half_precision_survives_a_row_of_low_scores_that_is_all_hidden():
    query = np.full((1, 2, 4), 60.0)
    key = np.full((1, 3, 4), -60.0)
    output = DotAttention(dtype="float16")(
        query, key, value_mask=np.zeros((1, 3), "bool")
    )
    np.testing.assert_array_equal(output, np.zeros((1, 2, 4)))


def test_the_lectures_scores_have_their_weights():
    query, value = np.ones((2, 3, 4)), np.ones((2, 5, 6))
    additive = AdditiveAttention(7)
    additive(query, value)
    shapes = {tuple(weight.shape) for weight in additive.weights}
    assert {(4, 7), (6, 7), (7,)} <= shapes  # W_q, W_k, v
    general = MultiplicativeAttention()
    general(query, value)
    shapes = [tuple(weight.shape) for weight in general.weights]
    assert len(shapes) == 1 and sorted(shapes[0]) == [4, 6]
