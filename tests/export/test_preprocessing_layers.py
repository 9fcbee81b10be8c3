"""Functional models with Keras' layers that prepare data, in the server."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export.exporting import export_model
from tests.export import served

WORDS = ["cat", "dog", "é"]
TEXTS = np.array([["Cat, dog!"], ["é dog"], ["owl"]], object)
NAMES = np.array([["dog"], ["é"], ["owl"]], object)
NUMBERS = np.array([[42], [7], [5]], "int64")
FEATURES = np.array([[1.0, -2.0], [0.5, 4.0], [3.0, 0.0]], "float32")
REQUEST = {
    "text": np.vectorize(str.encode, [object])(TEXTS),
    "name": np.vectorize(str.encode, [object])(NAMES),
    "number": NUMBERS,
    "features": FEATURES,
}


def adapted(layer, data):
    layer.adapt(data)
    return layer


def lookups(folder):
    """Layers by input, each with what it should answer."""
    layers = keras.layers
    file = folder / "words.txt"
    file.write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    # From the most to the least frequent; 0 is padding, 1 is unknown.
    texts = ["é é é dog dog cat"]
    bins = adapted(layers.Discretization(num_bins=3), FEATURES)
    return {
        "given_words": (
            "name",
            layers.StringLookup(vocabulary=WORDS),
            [[2], [3], [0]],
        ),
        "adapted_words": (
            "name",
            adapted(layers.StringLookup(), [["é"], ["é"], ["dog"]]),
            [[2], [1], [0]],
        ),
        "words_of_a_file": (
            "name",
            layers.StringLookup(vocabulary=str(file)),
            [[2], [3], [0]],
        ),
        "given_numbers": (
            "number",
            layers.IntegerLookup(vocabulary=[7, 42]),
            [[2], [1], [0]],
        ),
        "adapted_numbers": (
            "number",
            adapted(layers.IntegerLookup(), [[5], [5], [42]]),
            [[2], [0], [1]],
        ),
        "given_text": (
            "text",
            layers.TextVectorization(
                vocabulary=WORDS, output_sequence_length=3
            ),
            [[2, 3, 0], [4, 3, 0], [1, 0, 0]],
        ),
        "adapted_text": (
            "text",
            adapted(layers.TextVectorization(output_sequence_length=3), texts),
            [[4, 3, 0], [2, 3, 0], [1, 0, 0]],
        ),
        "counted_text": (
            "text",
            adapted(layers.TextVectorization(output_mode="count"), texts),
            [[0, 0, 1, 1], [0, 1, 1, 0], [1, 0, 0, 0]],
        ),
        "weighted_text": (
            "text",
            layers.TextVectorization(
                output_mode="tf_idf",
                vocabulary=WORDS,
                idf_weights=[0.5, 2.0, 3.0],
            ),
            # What is unknown weighs as much as the others do on average.
            [[0, 0.5, 2, 0], [0, 0, 2, 3], [5.5 / 3, 0, 0, 0]],
        ),
        "categories": (
            "number",
            layers.CategoryEncoding(43, output_mode="multi_hot"),
            np.eye(43)[NUMBERS[:, 0]],
        ),
        "normalized": (
            "features",
            adapted(layers.Normalization(), FEATURES),
            (FEATURES - FEATURES.mean(0)) / FEATURES.std(0),
        ),
        "bins": (
            "features",
            layers.Discretization(bin_boundaries=[0.0, 1.0, 2.0]),
            [[2, 0], [1, 3], [3, 1]],
        ),
        "adapted_bins": (
            "features",
            bins,
            np.digitize(FEATURES, bins.bin_boundaries),
        ),
    }


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What the C++ loader answers and what it should, by output."""
    folder = tmp_path_factory.mktemp("models")
    inputs = {
        "text": keras.Input((1,), dtype="string", name="text"),
        "name": keras.Input((1,), dtype="string", name="name"),
        "number": keras.Input((1,), dtype="int64", name="number"),
        "features": keras.Input((2,), name="features"),
    }
    wanted = lookups(folder)
    outputs = {
        name: layer(inputs[field]) for name, (field, layer, _) in wanted.items()
    }
    hashing = keras.layers.Hashing(5, salt=3)
    outputs["hashed"] = hashing(inputs["name"])
    path = export_model(keras.Model(inputs, outputs), folder / "model")
    assert not served.other_ops(path)
    (folder / "words.txt").unlink()
    (found,) = served.ask(path, [("predict", REQUEST)])
    expected = {name: answer for name, (_, _, answer) in wanted.items()}
    expected["hashed"] = np.asarray(hashing(NAMES.astype(str)))
    return found, expected


def test_the_server_prepares_data_as_the_layers_do(answers):
    found, expected = answers
    assert found.keys() == expected.keys()
    for name, answer in expected.items():
        np.testing.assert_allclose(
            *(found[name], answer), rtol=1e-5, atol=1e-6, err_msg=name
        )


@pytest.mark.parametrize("vocabulary", [None, [*"abcdefgh"]])
def test_weights_of_a_model_with_a_vocabulary_are_saved_once(
    vocabulary, tmp_path
):
    read = keras.layers.TextVectorization(vocabulary=vocabulary)
    if vocabulary is None:
        read.adapt(["a b c d e f g h"])
    embed = keras.layers.Embedding(10, 500)
    model = keras.Sequential(
        [keras.Input((), dtype="string", name="text"), read, embed]
    )
    # An optimizer's momentum is none of the server's business.
    model.compile("adam", "mse")
    text = tf.constant(["a b"])
    model.fit(text, np.zeros((1, 2, 500)), verbose=0)
    path = export_model(model, tmp_path)
    raw = 10 * 500 * 4
    size = sum(p.stat().st_size for p in (path / "variables").iterdir())
    assert raw <= size < 1.1 * raw
    text = np.array([b"h", b"a z"], object)
    (found,) = served.ask(path, [("predict", {"text": text})])
    table = np.asarray(embed.embeddings)
    words = read.get_vocabulary()
    wanted = table[[[words.index("h"), 0], [words.index("a"), 1]]]
    np.testing.assert_array_equal(next(iter(found.values())), wanted)


def test_examples_are_in_a_vocabulary_that_must_have_all(tmp_path):
    inputs = {
        "name": keras.Input((2,), dtype="string", name="name"),
        "number": keras.Input((), dtype="int64", name="number"),
    }
    strict = {"num_oov_indices": 0, "mask_token": None}
    outputs = {
        "name": keras.layers.StringLookup(vocabulary=WORDS, **strict)(
            inputs["name"]
        ),
        "number": keras.layers.IntegerLookup(vocabulary=[7, 42], **strict)(
            inputs["number"]
        ),
    }
    path = export_model(keras.Model(inputs, outputs), tmp_path)
    request = {"name": np.array([[b"dog", b"cat"]], object)}
    request["number"] = np.array([42])
    (found,) = served.ask(path, [("predict", request)])
    assert found["name"].tolist() == [[1, 0]]
    assert found["number"].tolist() == [1]


def test_a_model_that_looks_words_up_backwards_answers_with_them(tmp_path):
    ids = keras.Input((1,), dtype="int64", name="ids")
    words = keras.layers.StringLookup(vocabulary=WORDS, invert=True)(ids)
    path = export_model(keras.Model(ids, {"word": words}), tmp_path)
    (found,) = served.ask(path, [("predict", {"ids": np.array([[3], [0]])})])
    assert found["word"].tolist() == [["é".encode()], [b"[UNK]"]]
