"""What Dot-, Multiplicative- and AdditiveAttention have in common."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.attention.additive import AdditiveAttention
from keras_attn.attention.dot import DotAttention
from keras_attn.attention.multiplicative import MultiplicativeAttention
from keras_attn.attention.single_head import SingleHeadAttention


@pytest.fixture(params=["dot", "multiplicative", "additive"])
def make(request):
    """One constructor after the other, called with the shared arguments."""
    return {
        "dot": DotAttention,
        "multiplicative": MultiplicativeAttention,
        "additive": lambda **shared: AdditiveAttention(7, **shared),
    }[request.param]


@pytest.fixture
def inputs(rng):
    return {
        "query": rng.normal(size=(2, 3, 4)).astype("float32"),
        "value": rng.normal(size=(2, 5, 6)).astype("float32"),
        "key": rng.normal(size=(2, 5, 4)).astype("float32"),
    }


MASKS = {
    "value_mask": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 0, 0]], "bool"),
    "key_mask": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 0, 0]]),
    "attention_mask": np.array([[1, 1, 1, 0, 0]] * 3, "bool"),
}


@pytest.mark.parametrize("name", MASKS)
def test_hidden_keys_cannot_influence_the_output(name, make, inputs, rng):
    layer = make()
    before = layer(**inputs, **{name: MASKS[name]})
    seen = layer(**inputs)
    inputs["value"][:, 3:] = rng.normal(size=(2, 2, 6))
    inputs["key"][:, 3:] = rng.normal(size=(2, 2, 4))
    after = layer(**inputs, **{name: MASKS[name]})
    np.testing.assert_array_equal(before, after)
    assert np.abs(before - seen).max() > 1e-3


def test_masks_combine(make, inputs):
    _, weights = make()(
        **inputs,
        value_mask=np.array([[1, 1, 1, 1, 0]] * 2, "bool"),
        key_mask=np.array([[0, 1, 1, 1, 1]] * 2, "bool"),
        attention_mask=np.array([[[1, 1, 0, 1, 1]]], "bool"),
        use_causal_mask=True,
        return_attention_scores=True,
    )
    expected = [[0, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 1, 0, 0, 0]]
    np.testing.assert_array_equal(np.array(weights) > 0, [expected] * 2)


def test_a_query_that_may_see_nothing_gets_zeros(make, inputs):
    layer = make(value_projection="sigmoid")
    query = tf.Variable(inputs.pop("query"))
    mask = np.zeros((2, 3, 5), "bool")
    with tf.GradientTape() as tape:
        output, weights = layer(
            query,
            **inputs,
            attention_mask=mask,
            return_attention_scores=True,
        )
        loss = tf.reduce_sum(output)
    np.testing.assert_array_equal(output, np.zeros((2, 3, 6)))
    np.testing.assert_array_equal(weights, np.zeros((2, 3, 5)))
    np.testing.assert_array_equal(
        tape.gradient(loss, query), np.zeros((2, 3, 4))
    )


def test_padded_queries_get_zeros_and_the_others_what_they_got(make, inputs):
    layer = make()
    query_mask = np.array([[True, True, False], [True, False, False]])
    plain = layer(**inputs, return_attention_scores=True)
    hidden = layer(
        **inputs, query_mask=query_mask, return_attention_scores=True
    )
    for before, after in zip(plain, hidden, strict=True):
        expected = np.array(before) * query_mask[:, :, None]
        np.testing.assert_array_equal(after, expected)


def test_no_query_sees_the_future(make, inputs):
    layer = make()
    value = tf.Variable(inputs["value"][:, :, :4])
    with tf.GradientTape() as tape:
        output = layer(inputs["query"], value, use_causal_mask=True)
        second = tf.reduce_sum(output[:, 1] ** 2)
    moved = np.abs(tape.gradient(second, value)).max(axis=(0, 2)) > 0
    np.testing.assert_array_equal(moved, [True, True, False, False, False])


def test_masks_arrive_from_and_leave_for_other_layers(make):
    embedding = keras.layers.Embedding(10, 6, mask_zero=True)
    target = embedding(np.array([[1, 2, 0]]))
    source = embedding(np.array([[3, 4, 0, 0]]))
    output, weights = make()(target, source, return_attention_scores=True)
    np.testing.assert_array_equal(weights[:, :, 2:], 0.0)
    np.testing.assert_array_equal(weights[:, 2], 0.0)
    pooled = keras.layers.GlobalAveragePooling1D()(output)
    np.testing.assert_allclose(pooled, output[:, :2].numpy().mean(1), rtol=1e-5)


@pytest.mark.parametrize("num_pads", [2, 54])
def test_padding_never_changes_a_stack(num_pads, make):
    embedding = keras.layers.Embedding(10, 6, mask_zero=True)
    ids = keras.Input((None,), dtype="int32")
    hidden = embedding(ids)
    for _ in range(3):
        looked = make()(hidden, hidden)
        added = keras.layers.Add()([hidden, looked])
        hidden = keras.layers.LayerNormalization()(added)
    model = keras.Model(ids, hidden)
    tokens = np.array([[1, 2, 3], [4, 5, 0]])
    padded = np.pad(tokens, [(0, 0), (0, num_pads)])
    real = tokens > 0
    np.testing.assert_allclose(
        model(padded)[:, :3].numpy()[real],
        model(tokens).numpy()[real],
        rtol=1e-5,
        atol=1e-5,
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_large_numbers_stay_finite_in_half_precision(dtype, make):
    layer = make(dtype=f"mixed_{dtype}")
    query = np.full((1, 3, 64), 33.0, "float32")
    query[:, 1] *= -1.0
    mask = np.array([[True, True, False], [True] * 3, [False] * 3])
    x = tf.Variable(query)
    with tf.GradientTape() as tape:
        output = layer(x, x, attention_mask=mask)
        loss = tf.reduce_sum(tf.cast(output, "float32"))
    assert np.isfinite(tf.cast(output, "float32")).all()
    assert np.isfinite(tape.gradient(loss, x)).all()


def test_dropout_waits_for_training(make, inputs):
    layer = make(dropout=0.5)
    plain = make()
    plain(**inputs), layer(**inputs)
    plain.set_weights(layer.get_weights())
    expected = plain(**inputs)
    np.testing.assert_allclose(layer(**inputs), expected, rtol=1e-6)
    looked, _ = layer(**inputs, return_attention_scores=True)
    np.testing.assert_allclose(looked, expected, rtol=1e-6, atol=1e-6)


def test_dropout_drops_weights_and_returns_those_that_were_used(make, inputs):
    layer = make(dropout=0.5)
    _, kept = layer(**inputs, return_attention_scores=True)
    output, weights = layer(
        **inputs, return_attention_scores=True, training=True
    )
    np.testing.assert_allclose(output, weights @ inputs["value"], rtol=1e-5)
    ratio = weights / kept
    assert set(np.round(ratio, 4).flatten()) == {0.0, 2.0}
    again = layer(**inputs, training=True)
    assert np.abs(output - again).max() > 1e-3


def test_looking_at_the_weights_never_changes_the_output(make, inputs):
    layer = make()
    output, _ = layer(**inputs, return_attention_scores=True)
    np.testing.assert_allclose(layer(**inputs), output, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"key_projection": "tahn"}, "`key_projection`.*'tanh'"),
        ({"value_projection": 3}, "`value_projection`.*'linear'"),
        ({"dropout": 1.0}, "`dropout`.*less than 1"),
    ],
    ids=["key_projection", "value_projection", "dropout"],
)
def test_rejects_at_construction(arguments, message, make):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"query": np.ones((2, 4), "f")}, "`query`.*3 axes"),
        ({"value": np.ones((2, 5), "f")}, "`value`.*3 axes"),
        ({"key": np.ones((2, 4, 4), "f")}, "same length"),
        (
            {"value_mask": np.ones((2, 4), "bool")},
            "`value_mask`.*each position",
        ),
        ({"key_mask": np.full((2, 5), -1e9)}, "`key_mask`.*boolean"),
        ({"query_mask": np.ones((2, 5), "bool")}, "`query_mask`"),
        ({"attention_mask": np.ones((2, 5), "bool")}, "`attention_mask`"),
        ({"attention_mask": np.full((3, 5), -1e9)}, "`attention_mask`.*bias"),
    ],
    ids=[
        "query_rank",
        "value_rank",
        "key_length",
        "value_mask_length",
        "float_key_mask",
        "query_mask_length",
        "attention_mask_shape",
        "float_attention_mask",
    ],
)
def test_rejects_at_the_first_call(change, message, make, inputs):
    with pytest.raises(ValueError, match=message):
        make()(**{**inputs, **change})


def test_the_score_is_left_to_subclasses(inputs):
    with pytest.raises(NotImplementedError):
        SingleHeadAttention()(**inputs)
