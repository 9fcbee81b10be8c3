import keras
import numpy as np
import pytest

from keras_attn.embeddings.token import TokenEmbedding
from keras_attn.export.graph import model_io


@pytest.fixture
def tensors():
    numbers = keras.Input((3,), name="numbers")
    ids = keras.Input((4,), dtype="int32", name="some-ids")
    vectors = keras.layers.Embedding(5, 3)(ids)
    total = keras.layers.GlobalAveragePooling1D(name="total")(vectors)
    both = keras.layers.Add(name="both")([numbers, total])
    return numbers, ids, total, both


VALUES = {
    "numbers": np.arange(6.0).reshape(2, 3),
    "some_ids": np.array([[0, 1, 2, 3], [4, 3, 2, 1]]),
}


def check(model, names, expected):
    answer = model_io.call(model, VALUES)
    assert list(model_io.outputs(model)) == list(answer) == names
    for output, tensor in zip(answer.values(), expected, strict=True):
        np.testing.assert_array_equal(output, tensor)


def test_a_list_has_the_names_of_inputs_and_layers(tensors):
    numbers, ids, total, both = tensors
    model = keras.Model([numbers, ids], [both, total])
    assert list(model_io.inputs(model)) == ["numbers", "some_ids"]
    check(model, ["both", "total"], model([*VALUES.values()]))


def test_one_input_and_one_output_have_theirs(tensors):
    numbers, _, _, _ = tensors
    model = keras.Model(numbers, keras.layers.Dense(2, name="dense")(numbers))
    assert list(model_io.inputs(model)) == ["numbers"]
    check(model, ["dense"], [model(VALUES["numbers"])])


def test_a_dictionary_has_its_keys(tensors):
    numbers, ids, total, both = tensors
    model = keras.Model(
        {"some-ids": ids, "numbers": numbers}, {"z": total, "a": both}
    )
    assert list(model_io.inputs(model)) == ["numbers", "some_ids"]
    expected = model(
        {"some-ids": VALUES["some_ids"], "numbers": VALUES["numbers"]}
    )
    check(model, ["a", "z"], [expected["a"], expected["z"]])


def test_a_sequential_model_has_those_of_its_ends():
    model = keras.Sequential(
        [keras.Input((3,), name="numbers"), keras.layers.Dense(2, name="last")]
    )
    assert list(model_io.inputs(model)) == ["numbers"]
    check(model, ["last"], [model(VALUES["numbers"])])


def test_a_name_that_comes_again_gets_a_number(tensors):
    numbers, _, _, _ = tensors
    layer = keras.layers.Dense(3, name="dense")
    first = layer(numbers)
    model = keras.Model(numbers, [first, layer(first)])
    assert list(model_io.outputs(model)) == ["dense", "dense_1"]


def test_models_without_known_inputs_are_told_apart(tensors):
    assert not model_io.is_functional(keras.Sequential([keras.layers.Dense(2)]))
    assert model_io.is_functional(keras.Model(tensors[0], tensors[0] + 1))


def test_ids_are_known_where_an_embedding_takes_them(tensors):
    numbers, ids, _, both = tensors
    model = keras.Model([numbers, ids], both)
    assert model_io.vocabulary_sizes(model) == {"some_ids": 5}
    few = TokenEmbedding(3, 4)(ids)
    model = keras.Model([numbers, ids], [few, both])
    assert model_io.vocabulary_sizes(model) == {"some_ids": 3}
    looked_up = keras.layers.IntegerLookup(vocabulary=[1, 2])(ids)
    assert model_io.vocabulary_sizes(keras.Model(ids, looked_up)) == {}
    moved = keras.layers.Embedding(7, 3)(ids + 1)
    assert model_io.vocabulary_sizes(keras.Model(ids, moved)) == {}
