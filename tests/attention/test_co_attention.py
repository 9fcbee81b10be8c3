import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.attention.co_attention import CoAttention
from tests.contract import check_layer

# The second row of each stream ends with padding.
FIRST_MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], "bool")
SECOND_MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]], "bool")
MASKS = {"first_mask": FIRST_MASK, "second_mask": SECOND_MASK}


@pytest.fixture
def inputs(rng):
    return {
        "first": rng.normal(size=(2, 4, 6)).astype("float32"),
        "second": rng.normal(size=(2, 5, 7)).astype("float32"),
    }


def made(rng, inputs, **options):
    """A layer whose weights, biases included, are random."""
    layer = CoAttention(2, 3, **options)
    layer.build(*(x.shape for x in inputs.values()))
    layer.set_weights([rng.normal(size=w.shape) for w in layer.weights])
    return layer


def attend(attention, x, y, visible):
    """Section 2.2 of the paper in float64: queries of x; keys, values of y."""

    def linear(dense, equation, vectors):
        kernel, bias = (np.float64(w) for w in dense.get_weights())
        return np.einsum(equation, vectors, kernel) + bias

    query = linear(attention.query_dense, "btf,fhd->bthd", x)
    key = linear(attention.key_dense, "btf,fhd->bthd", y)
    value = linear(attention.value_dense, "btf,fhd->bthd", y)
    scores = np.einsum("bqhd,bkhd->bhqk", query, key) / np.sqrt(3)
    scores = np.where(visible[:, None], scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    heads = np.einsum("bhqk,bkhd->bqhd", weights, value)
    return linear(attention.output_dense, "bqhd,hdf->bqf", heads), weights


@pytest.mark.parametrize(
    "init",
    [
        {"num_heads": 2, "key_dim": 3, "dropout": 0.2},
        {"num_heads": 1, "key_dim": 4, "use_bias": False},
    ],
    ids=["biases", "no_biases"],
)
def test_contract(init, inputs, tmp_path):
    check_layer(
        CoAttention,
        init,
        inputs,
        output_shape=(2, 4, 6),
        tmp_path=tmp_path,
        padded=["first", "second"],
        # What all keys share cancels in the softmax.
        powerless=["key/bias"],
    )


@pytest.mark.parametrize("implementation", ["dense", "tiled"])
def test_matches_the_equation(implementation, inputs, rng):
    layer = made(rng, inputs, implementation=implementation)
    x, y = (np.float64(each) for each in inputs.values())
    outputs = layer(**inputs, **MASKS)
    seen = layer(**inputs, **MASKS, return_attention_scores=True)
    sides = (
        (layer.first_attention, x, y, FIRST_MASK, SECOND_MASK),
        (layer.second_attention, y, x, SECOND_MASK, FIRST_MASK),
    )
    for number, (attention, query, value, real, visible) in enumerate(sides):
        expected, weights = attend(attention, query, value, visible[:, None])
        np.testing.assert_allclose(
            outputs[number][real], expected[real], rtol=1e-4, atol=1e-4
        )
        np.testing.assert_allclose(
            seen[number][real], expected[real], rtol=1e-4, atol=1e-4
        )
        heads = np.broadcast_to(real[:, None], (2, 2, real.shape[1]))
        np.testing.assert_allclose(
            seen[2 + number][heads], weights[heads], rtol=1e-4, atol=1e-5
        )


def test_a_mask_for_pairs_holds_in_both_directions(inputs, rng):
    layer = made(rng, inputs)
    pairs = rng.random((2, 4, 5)) < 0.5
    pairs[:, 0, 0] = True
    pairs[:, 3] = False
    first, _, forth, back = layer(
        **inputs, attention_mask=pairs, return_attention_scores=True
    )
    for weights, seen in ((forth, pairs), (back, np.swapaxes(pairs, 1, 2))):
        seen = np.broadcast_to(seen[:, None], weights.shape)
        assert np.all((weights.numpy() > 0) == seen)
    # Who may see nothing gets the output's bias.
    bias = layer.first_attention.output_dense.bias
    np.testing.assert_allclose(first[:, 3], [bias, bias], rtol=1e-6)


def test_each_output_carries_the_mask_of_its_stream(inputs, rng):
    tensors = [tf.constant(x) for x in inputs.values()]
    for tensor, mask in zip(tensors, MASKS.values(), strict=True):
        tensor._keras_mask = tf.constant(mask)
    outputs = made(rng, inputs)(*tensors)
    for output, mask in zip(outputs, MASKS.values(), strict=True):
        np.testing.assert_array_equal(output._keras_mask, mask)


def test_padding_leaks_through_no_stack():
    words, pixels = (keras.Input((None,), dtype="int32") for _ in range(2))
    embed = keras.layers.Embedding(9, 6, mask_zero=True)
    x, y = embed(words), keras.layers.Embedding(9, 7, mask_zero=True)(pixels)
    for _ in range(3):
        x, y = CoAttention(2, 3)(x, y)
    model = keras.Model([words, pixels], [x, y])
    sentence, image = np.array([[4, 2, 8]]), np.array([[1, 7]])
    long_sentence = np.pad(sentence, [(0, 0), (0, 2)])
    long_image = np.pad(image, [(0, 0), (0, 5)])
    expected = model([sentence, image])
    padded = model([long_sentence, long_image])
    for one, two in zip(padded, expected, strict=True):
        np.testing.assert_allclose(one[:, : two.shape[1]], two, atol=1e-6)


def test_the_streams_change_places(inputs, rng):
    layer = made(rng, inputs)
    other = CoAttention(2, 3)
    other.build(inputs["second"].shape, inputs["first"].shape)
    other.first_attention.set_weights(layer.second_attention.get_weights())
    other.second_attention.set_weights(layer.first_attention.get_weights())
    first, second = layer(**inputs)
    swapped = other(inputs["second"], inputs["first"])
    np.testing.assert_array_equal(swapped[0], second)
    np.testing.assert_array_equal(swapped[1], first)


def test_has_the_parameters_of_the_paper():
    """Of the released 6-layer model: text 768, regions 1024, 8 heads."""
    layer = CoAttention(8, 128)
    layer.build((None, None, 768), (None, None, 1024))
    text, regions = 768 * 1024, 1024 * 1024
    assert layer.count_params() == (
        3 * (text + 1024) + 3 * (regions + 1024) + (text + 768) + regions + 1024
    )


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"num_heads": 0, "key_dim": 3}, "`num_heads` must be"),
        ({"num_heads": 2, "key_dim": 0}, "`key_dim` must be"),
        ({"num_heads": 2, "key_dim": 3, "dropout": 1.0}, "`dropout` must be"),
    ],
)
def test_refuses_sizes_that_do_not_fit(init, message):
    with pytest.raises(ValueError, match=message):
        CoAttention(**init)


def test_refuses_streams_and_masks_of_other_shapes(inputs):
    message = r"`second` must have 3 axes.*\(2, 7\)"
    with pytest.raises(ValueError, match=message):
        CoAttention(2, 3)(inputs["first"], inputs["second"][:, 0])
    with pytest.raises(ValueError, match="`second_mask` must have one value"):
        CoAttention(2, 3)(**inputs, second_mask=FIRST_MASK)
