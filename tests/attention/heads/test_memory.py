"""A memory, projected once: the same claims for every attention layer."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.attention.additive import AdditiveAttention
from keras_attn.attention.dot import DotAttention
from keras_attn.attention.heads.memory import clean_memory
from keras_attn.attention.heads.memory import heads_first
from keras_attn.attention.heads.memory import pack_memory
from keras_attn.attention.local import LocalAttention
from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.attention.multiplicative import MultiplicativeAttention

PADDING = np.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]], "bool")
LAYERS = {
    "dot": lambda: DotAttention(value_projection="tanh"),
    "dot_projected": lambda: DotAttention(key_projection="linear"),
    "multiplicative": MultiplicativeAttention,
    "low_rank": lambda: MultiplicativeAttention(units=3),
    "additive": lambda: AdditiveAttention(7, use_bias=True),
    "local_m": lambda: LocalAttention(1, alignment="monotonic"),
    "local_p": lambda: LocalAttention(2, value_projection="linear"),
    "multi_head": lambda: MultiHeadAttention(2, 3),
    "grouped": lambda: MultiHeadAttention(
        4, 6, num_kv_heads=2, use_gate=True, modifiers=["Rotary", "ALiBi"]
    ),
}


@pytest.fixture
def inputs(rng):
    return {
        "query": rng.normal(size=(2, 3, 4)).astype("float32"),
        "value": rng.normal(size=(2, 5, 6)).astype("float32"),
        "key": rng.normal(size=(2, 5, 4)).astype("float32"),
    }


@pytest.fixture(params=LAYERS)
def layer(request, inputs, rng):
    layer = LAYERS[request.param]()
    layer.build(*(inputs[x].shape for x in ("query", "value", "key")))
    layer.set_weights([rng.normal(size=w.shape) for w in layer.weights])
    return layer


def spoil(array):
    """Put NaN where there is padding."""
    return np.where(PADDING[:, :, None], array, np.nan)


def step_by_step(layer, query, value, key):
    """Project once, attend from one query after the other."""
    memory = layer.project_memory(value, key, mask=PADDING)
    answers = [
        layer.attend_memory(
            query[:, t : t + 1],
            memory,
            query_positions=np.full((1, 1), t, "int32"),
            return_attention_scores=True,
        )
        for t in range(3)
    ]
    outputs, weights = zip(*answers, strict=True)
    return tf.concat(outputs, axis=1), tf.concat(weights, axis=-2)


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
def test_step_by_step_equals_the_call_even_with_nan_in_the_padding(
    graph, layer, inputs
):
    expected = layer(**inputs, value_mask=PADDING, return_attention_scores=True)
    walk = tf.function(step_by_step, autograph=False) if graph else step_by_step
    found = walk(
        layer,
        inputs["query"],
        spoil(inputs["value"]),
        spoil(inputs["key"]),
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-6)


def test_all_queries_at_once_equal_the_call(layer, inputs):
    options = {
        "query_mask": np.array([[1, 1, 0], [1, 1, 1]], "bool"),
        "attention_mask": np.array([[[1, 1, 1, 0, 1]]], "bool"),
        "use_causal_mask": True,
        "return_attention_scores": True,
    }
    expected = layer(**inputs, **options, value_mask=PADDING)
    memory = layer.project_memory(inputs["value"], inputs["key"], mask=PADDING)
    found = layer.attend_memory(inputs["query"], memory, **options)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-6)
    alone = layer.attend_memory(
        inputs["query"], memory, **{**options, "return_attention_scores": False}
    )
    np.testing.assert_array_equal(alone, found[0])


def test_a_memory_without_padding_has_no_mask(layer, inputs):
    expected = layer(**inputs)
    memory = layer.project_memory(inputs["value"], inputs["key"])
    assert set(memory) == {"key", "value"}
    found = layer.attend_memory(inputs["query"], memory)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-6)


def test_a_memory_of_nothing_but_padding_gives_no_weight(layer, inputs):
    memory = layer.project_memory(
        inputs["value"] * np.nan, inputs["key"] * np.nan, mask=PADDING & False
    )
    output, weights = layer.attend_memory(
        inputs["query"], memory, return_attention_scores=True
    )
    np.testing.assert_array_equal(weights, np.zeros_like(weights))
    assert np.isfinite(output).all()


def test_steps_do_not_project_the_memory_again(layer, inputs, monkeypatch):
    memory = layer.project_memory(inputs["value"], inputs["key"])

    def refuse(*args, **kwargs):
        raise AssertionError("projected again")

    for name in ("key_dense", "value_dense", "key_layer", "value_layer"):
        if getattr(layer, name, None) is not None:
            monkeypatch.setattr(getattr(layer, name), "call", refuse)
    layer.attend_memory(inputs["query"], memory)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "float64"])
@pytest.mark.parametrize("name", LAYERS)
def test_a_memory_has_the_dtype_that_is_computed_in(name, policy, inputs):
    keras.config.set_dtype_policy(policy)
    try:
        layer = LAYERS[name]()
    finally:
        keras.config.set_dtype_policy("float32")
    expected = layer(**inputs)
    memory = layer.project_memory(inputs["value"], inputs["key"])
    found = layer.attend_memory(inputs["query"], memory)
    assert memory["key"].dtype == memory["value"].dtype == layer.compute_dtype
    assert found.dtype == expected.dtype == layer.compute_dtype
    np.testing.assert_allclose(
        tf.cast(found, "float32"), tf.cast(expected, "float32"), atol=2e-2
    )


@pytest.mark.parametrize("name", ["multi_head", "additive", "local_p"])
def test_gradients_reach_the_memory_s_projections(name, inputs):
    layer = LAYERS[name]()
    layer(**inputs)
    with tf.GradientTape() as tape:
        memory = layer.project_memory(
            inputs["value"], inputs["key"], mask=PADDING
        )
        output = layer.attend_memory(inputs["query"], memory)
        loss = tf.reduce_sum(output**2)
    variables = [weight.value for weight in layer.trainable_weights]
    for gradient in tape.gradient(loss, variables):
        assert np.isfinite(tf.convert_to_tensor(gradient)).all()


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_without_weights_refuses(name, inputs):
    with pytest.raises(ValueError, match=r"not built\. Call it once"):
        LAYERS[name]().project_memory(inputs["value"])


def test_a_mask_that_does_not_fit_is_refused(layer, inputs):
    with pytest.raises(ValueError, match="one value for each position"):
        layer.project_memory(
            inputs["value"], inputs["key"], mask=PADDING[:, :4]
        )


def test_padding_becomes_zeros_and_one_tensor_stays_one(inputs):
    layer = DotAttention()
    layer.build((2, 3, 6), (2, 5, 6))
    value, key, mask = clean_memory(layer, spoil(inputs["value"]), mask=PADDING)
    assert key is value
    np.testing.assert_array_equal(
        value, np.where(PADDING[:, :, None], inputs["value"], 0)
    )
    np.testing.assert_array_equal(mask, PADDING)
    assert set(pack_memory(key, value, mask)) == {"key", "value", "mask"}


def test_weights_are_dropped_while_training_only(inputs):
    layer = MultiHeadAttention(2, 3, dropout=0.5, seed=1)
    layer(**inputs)
    memory = layer.project_memory(inputs["value"], inputs["key"])
    _, quiet = layer.attend_memory(
        inputs["query"], memory, return_attention_scores=True
    )
    _, dropped = layer.attend_memory(
        inputs["query"], memory, return_attention_scores=True, training=True
    )
    dropped = dropped.numpy()
    assert 0 < np.mean(dropped == 0) < 1
    kept = dropped != 0
    np.testing.assert_allclose(dropped[kept], 2 * quiet[kept], rtol=1e-5)


def test_images_are_no_memory(rng):
    image = rng.normal(size=(2, 3, 3, 4)).astype("float32")
    layer = MultiHeadAttention(2, 3)
    layer(image, image)
    with pytest.raises(ValueError, match="For a memory inputs must be"):
        layer.project_memory(image)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 1, 4, 5), (2, 4, 1, 5)])
def test_heads_and_positions_change_places(shape, rng):
    x = rng.normal(size=shape)
    np.testing.assert_array_equal(heads_first(x), x.swapaxes(1, 2))
