import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.embeddings.token import TokenEmbedding
from tests.contract import check_layer

IDS = np.array([[3, 1, 0, 0], [4, 2, 5, 0], [1, 1, 6, 2]], "int32")


@pytest.mark.parametrize(
    "init",
    [
        {"vocabulary_size": 7, "units": 5},
        {
            "vocabulary_size": 7,
            "units": 5,
            "scale": False,
            "pad_id": None,
            "embeddings_initializer": "glorot_uniform",
        },
    ],
    ids=["scaled", "plain"],
)
def test_contract(init, tmp_path):
    check_layer(
        TokenEmbedding,
        init,
        {"inputs": IDS},
        output_shape=(3, 4, 5),
        tmp_path=tmp_path,
        padded=(),  # ids are where padding begins
    )


@pytest.mark.parametrize("scale", [True, False])
def test_matches_the_equation(scale):
    layer = TokenEmbedding(7, 5, scale=scale, dtype="float64")
    output = layer(IDS)
    table = layer.embeddings.numpy()
    expected = table[IDS] * (np.sqrt(5) if scale else 1)
    np.testing.assert_allclose(output, expected, rtol=1e-12)


def test_reversed_it_scores_each_token_by_its_own_vector(rng):
    layer = TokenEmbedding(7, 5, dtype="float64")
    layer.build()
    x = rng.normal(size=(3, 4, 5))
    logits = layer(x, reverse=True)
    table = layer.embeddings.numpy()
    for row, place, token in np.ndindex(3, 4, 7):
        np.testing.assert_allclose(
            logits[row, place, token], x[row, place] @ table[token]
        )
    one = layer(x[:, 0], reverse=True)  # a step of decoding has no length
    np.testing.assert_allclose(one, logits[:, 0], rtol=1e-12)


def test_both_ways_learn_the_same_matrix():
    layer = TokenEmbedding(7, 5)
    layer.build()
    assert len(layer.weights) == 1
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(layer(IDS), reverse=True) ** 2)
    gradient = tape.gradient(loss, layer.embeddings.value)
    # Every row: those that were read and those that were only scored.
    assert np.all(np.any(tf.convert_to_tensor(gradient), axis=1))


def test_vectors_on_the_way_in_have_the_size_of_the_positions():
    keras.utils.set_random_seed(1)
    output = TokenEmbedding(100, 64)(np.arange(100)[None])
    assert 0.9 < np.std(output) < 1.1


@pytest.mark.parametrize("pad_id", [0, 2])
def test_the_mask_hides_padding(pad_id):
    layer = TokenEmbedding(7, 5, pad_id=pad_id)
    np.testing.assert_array_equal(layer(IDS)._keras_mask, IDS != pad_id)


def test_without_a_pad_id_nothing_is_hidden():
    output = TokenEmbedding(7, 5, pad_id=None)(IDS)
    assert getattr(output, "_keras_mask", None) is None


def test_vectors_on_the_way_out_keep_their_mask():
    tokens = keras.Input((None,), dtype="int32")
    layer = TokenEmbedding(7, 5)
    model = keras.Model(tokens, layer(layer(tokens), reverse=True))
    logits = model(IDS)
    assert logits.shape == (3, 4, 7)
    np.testing.assert_array_equal(logits._keras_mask, IDS != 0)


def test_logits_of_a_mixed_policy_are_in_its_compute_dtype(rng):
    layer = TokenEmbedding(7, 5, dtype="mixed_bfloat16")
    layer.build()
    assert layer(rng.normal(size=(2, 5)), reverse=True).dtype == "bfloat16"


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"vocabulary_size": 0}, "`vocabulary_size`.*at least 1"),
        ({"units": 0}, "`units` must be an integer of at least 1"),
        ({"pad_id": 7}, "`pad_id`.*pad_id=7, vocabulary_size=7"),
        ({"pad_id": -1}, "`pad_id`.*pad_id=-1"),
    ],
)
def test_refuses_to_be_made(init, message):
    with pytest.raises(ValueError, match=message):
        TokenEmbedding(**{"vocabulary_size": 7, "units": 5, **init})


def test_ids_that_are_no_integers_are_refused():
    with pytest.raises(ValueError, match=r"Ids must be integers.*float32"):
        TokenEmbedding(7, 5)(IDS.astype("float32"))
    with pytest.raises(ValueError, match=r"keras.Input.*int32"):
        TokenEmbedding(7, 5)(keras.Input((None,)))


@pytest.mark.parametrize("unknown", [7, -1])
def test_an_unknown_id_is_no_token(unknown):
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in"):
        TokenEmbedding(7, 5)(np.array([[1, unknown]]))


def test_a_step_compiles_to_a_product_with_the_vocabulary_first():
    layer = TokenEmbedding(17, 5)
    layer.build()
    step = tf.function(
        lambda x: tf.argmax(layer(x, reverse=True), axis=-1), jit_compile=True
    )
    compiled = step.experimental_get_compiler_ir(tf.ones((3, 5)))()
    (product,) = re.findall(r"(\S+)\{[\d,]+\} dot\(", compiled)
    assert product == "f32[17,3]"


def test_a_step_keeps_what_is_not_a_number():
    layer = TokenEmbedding(7, 5)
    layer.build()
    logits = layer(tf.constant([[np.nan] * 5, [1.0] * 5]), reverse=True)
    assert np.isnan(logits[0]).all()
    assert np.isfinite(logits[1]).all()


def test_one_row_of_a_step_is_scored_as_among_others(rng):
    layer = TokenEmbedding(11, 5)
    layer.build()
    vectors = tf.constant(rng.normal(size=(3, 5)), "float32")

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([None, 5])])
    def step(vectors):
        return layer(vectors, reverse=True)

    expected = vectors.numpy() @ layer.embeddings.numpy().T
    np.testing.assert_allclose(step(vectors), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        step(vectors[1:2]), expected[1:2], rtol=1e-5, atol=1e-6
    )
    assert step(vectors[:0]).shape == (0, 11)
