import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.attention.local import LocalAttention
from tests.contract import check_layer


@pytest.fixture
def inputs(rng):
    return {
        "query": rng.normal(size=(2, 3, 4)).astype("float32"),
        "value": rng.normal(size=(2, 7, 6)).astype("float32"),
        "key": rng.normal(size=(2, 7, 4)).astype("float32"),
    }


@pytest.mark.parametrize(
    "init",
    [
        {"half_width": 3},
        {
            "half_width": 2,
            "alignment": "monotonic",
            "score": "dot",
            "dropout": 0.1,
        },
    ],
    ids=["predictive", "monotonic_with_dropout"],
)
def test_contract(init, inputs, tmp_path):
    check_layer(
        LocalAttention,
        init,
        inputs,
        output_shape=(2, 3, 6),
        tmp_path=tmp_path,
    )


def local_weights(scores, centers, half_width, gaussian, lengths):
    """The docstring, one (query, key) at a time."""
    weights = np.zeros_like(scores)
    for b, t in np.ndindex(scores.shape[:2]):
        center = centers[b, t]
        window = [s for s in range(lengths[b]) if abs(s - center) <= half_width]
        total = sum(np.exp(scores[b, t, s]) for s in window)
        for s in window:
            weights[b, t, s] = np.exp(scores[b, t, s]) / total
            if gaussian:
                sigma = half_width / 2
                distance = s - center
                weights[b, t, s] *= np.exp(-(distance**2) / (2 * sigma**2))
    return weights


def test_matches_the_monotonic_equation(inputs):
    layer = LocalAttention(1, alignment="monotonic", score="dot")
    output, weights = layer(**inputs, return_attention_scores=True)

    query, value, key = (x.astype("float64") for x in inputs.values())
    scores = query @ key.swapaxes(1, 2)
    centers = np.array([[0, 1, 2]] * 2)
    expected = local_weights(scores, centers, 1, False, [7, 7])

    np.testing.assert_allclose(weights, expected, rtol=1e-5)
    np.testing.assert_allclose(output, expected @ value, rtol=1e-5)


def test_matches_the_predictive_equation(inputs):
    layer = LocalAttention(2)
    mask = np.array([[True] * 7, [True] * 5 + [False] * 2])
    output, weights = layer(
        **inputs, value_mask=mask, return_attention_scores=True
    )

    W = layer.query_dense.kernel.numpy().astype("float64")
    W_p = layer.position_dense.kernel.numpy().astype("float64")
    v = layer.position_vector.numpy().astype("float64")
    query, value, key = (x.astype("float64") for x in inputs.values())
    scores = query @ W @ key.swapaxes(1, 2)
    S = np.array([[7], [5]])
    centers = S / (1 + np.exp(-np.tanh(query @ W_p) @ v))
    expected = local_weights(scores, centers, 2, True, [7, 5])

    np.testing.assert_allclose(weights, expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(output, expected @ value, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("alignment", ["monotonic", "predictive"])
def test_it_does_not_matter_on_which_side_padding_stands(alignment, inputs):
    layer = LocalAttention(2, alignment=alignment)
    expected = layer(**inputs)
    mask = np.ones((2, 7), "bool")
    left = {
        name: x if name == "query" else np.pad(x, [(0, 0), (3, 0), (0, 0)])
        for name, x in inputs.items()
    }
    mask = np.pad(mask, [(0, 0), (3, 0)])
    output = layer(**left, value_mask=mask)
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)


def test_padding_before_the_queries_does_not_move_the_window(inputs):
    layer = LocalAttention(1, alignment="monotonic")
    expected = layer(**inputs)
    inputs["query"] = np.pad(inputs["query"], [(0, 0), (2, 0), (0, 0)])
    query_mask = np.array([[False] * 2 + [True] * 3] * 2)
    output = layer(**inputs, query_mask=query_mask)
    np.testing.assert_allclose(output[:, 2:], expected, rtol=1e-5)
    np.testing.assert_array_equal(output[:, :2], 0.0)


def test_one_step_at_a_time_is_the_same_as_all_at_once(inputs):
    layer = LocalAttention(1, alignment="monotonic")
    expected = layer(**inputs)
    query = inputs.pop("query")
    steps = [
        layer(query[:, t : t + 1], **inputs, query_positions=np.array([[t]]))
        for t in range(3)
    ]
    np.testing.assert_allclose(
        np.concatenate(steps, axis=1), expected, rtol=1e-5, atol=1e-6
    )


def test_a_query_past_the_end_of_the_source_gets_zeros(inputs):
    layer = LocalAttention(1, alignment="monotonic")
    output = layer(
        **inputs, value_mask=np.array([[True] + [False] * 6, [False] * 7])
    )
    np.testing.assert_array_equal(output[0, 2:], 0.0)
    np.testing.assert_array_equal(output[1], 0.0)
    assert np.all(output[0, :2])


@pytest.mark.parametrize("alignment", ["monotonic", "predictive"])
def test_a_query_that_may_see_nothing_gets_zeros(alignment, inputs):
    layer = LocalAttention(2, alignment=alignment)
    query = tf.Variable(inputs.pop("query"))
    with tf.GradientTape() as tape:
        output, weights = layer(
            query,
            **inputs,
            attention_mask=np.zeros((2, 3, 7), "bool"),
            return_attention_scores=True,
        )
        loss = tf.reduce_sum(output)
    np.testing.assert_array_equal(output, np.zeros((2, 3, 6)))
    np.testing.assert_array_equal(weights, np.zeros((2, 3, 7)))
    np.testing.assert_array_equal(
        tape.gradient(loss, query), np.zeros((2, 3, 4))
    )


def test_no_query_sees_the_future(inputs):
    layer = LocalAttention(7)
    value = tf.Variable(inputs["value"])
    with tf.GradientTape() as tape:
        output = layer(inputs["query"], value, use_causal_mask=True)
        second = tf.reduce_sum(output[:, 1] ** 2)
    moved = np.abs(tape.gradient(second, value)).max(axis=(0, 2)) > 0
    np.testing.assert_array_equal(moved, [True] * 2 + [False] * 5)


def test_masks_arrive_from_and_leave_for_other_layers():
    embedding = keras.layers.Embedding(10, 6, mask_zero=True)
    target = embedding(np.array([[1, 2, 0]]))
    source = embedding(np.array([[3, 4, 0, 0]]))
    output, weights = LocalAttention(3)(
        target, source, return_attention_scores=True
    )
    np.testing.assert_array_equal(weights[:, :, 2:], 0.0)
    np.testing.assert_array_equal(weights[:, 2], 0.0)
    pooled = keras.layers.GlobalAveragePooling1D()(output)
    np.testing.assert_allclose(pooled, output[:, :2].numpy().mean(1), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_large_numbers_stay_finite_in_half_precision(dtype):
    layer = LocalAttention(2, score="dot", dtype=f"mixed_{dtype}")
    x = tf.Variable(np.full((1, 3, 64), 33.0, "float32"))
    with tf.GradientTape() as tape:
        output = layer(x, x)
        loss = tf.reduce_sum(tf.cast(output, "float32"))
    assert np.isfinite(tf.cast(output, "float32")).all()
    assert np.isfinite(tape.gradient(loss, x)).all()


def test_dropout_waits_for_training(inputs):
    layer = LocalAttention(7, dropout=0.5)
    output, kept = layer(**inputs, return_attention_scores=True)
    np.testing.assert_array_equal(layer(**inputs), output)
    np.testing.assert_allclose(output, kept @ inputs["value"], rtol=1e-5)
    output, weights = layer(
        **inputs, return_attention_scores=True, training=True
    )
    np.testing.assert_allclose(output, weights @ inputs["value"], rtol=1e-5)
    assert set(np.round(weights / kept, 4).flatten()) == {0.0, 2.0}


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"half_width": 0}, "`half_width`.*at least 1"),
        ({"alignment": "local-m"}, "`alignment`.*'monotonic'.*'local-m'"),
        ({"score": "concat"}, "`score`.*'general'.*'concat'"),
        ({"dropout": -1}, "`dropout`"),
    ],
    ids=["half_width", "alignment", "score", "dropout"],
)
def test_rejects_at_construction(arguments, message):
    with pytest.raises(ValueError, match=message):
        LocalAttention(**{"half_width": 2, **arguments})


def test_widths_that_differ_need_the_general_score(inputs):
    with pytest.raises(ValueError, match="Use `score='general'`"):
        LocalAttention(2, score="dot")(inputs["query"], inputs["value"])


def test_keys_and_values_may_be_projected_first(inputs, rng):
    layer = LocalAttention(
        1,
        alignment="monotonic",
        score="dot",
        key_projection="linear",
        value_projection="tanh",
    )
    query, value = inputs["query"], inputs["value"]
    layer(query, value)
    layer.set_weights([rng.normal(size=w.shape) for w in layer.weights])
    kernel, bias, value_kernel, value_bias = layer.get_weights()
    expected = LocalAttention(1, alignment="monotonic", score="dot")(
        query, np.tanh(value @ value_kernel + value_bias), value @ kernel + bias
    )
    np.testing.assert_allclose(layer(query, value), expected, atol=1e-5)
