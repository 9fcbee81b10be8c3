import keras
import pytest

from keras_attn.attention import checks
from keras_attn.attention.dot import DotAttention


def test_an_unknown_function_is_told_the_choices():
    with pytest.raises(ValueError, match=r"`key_projection`.*'linear'.*'tahn'"):
        checks.function("tahn", "key_projection")


@pytest.mark.parametrize("name", [None, "linear", "tanh", "relu"])
def test_known_functions_pass(name):
    checks.function(name, "key_projection")


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4, 5), (2, 3, None)], ids=str)
def test_a_sequence_has_three_axes(shape):
    with pytest.raises(ValueError, match=r"`value`.*3 axes.*Received shapes"):
        checks.sequences(query=(2, 3, 4), value=shape, key=shape)


def test_there_is_one_key_for_each_value():
    with pytest.raises(ValueError, match="same length"):
        checks.sequences(query=(2, 3, 4), value=(2, 5, 6), key=(2, 4, 6))
    checks.sequences(query=(2, 3, 4), value=(2, 5, 6), key=(2, None, 6))


def test_a_dot_product_needs_equal_widths():
    with pytest.raises(ValueError, match=r"query=\(2, 3, 4\).*Do this\."):
        checks.same_width((2, 3, 4), (2, 5, 6), "Do this.")
    checks.same_width((2, 3, 4), (2, 5, 4), "Do this.")


def test_a_memory_is_a_sequence_of_vectors_of_known_width():
    checks.memory((None, None, 5))
    checks.memory((2, 6, 5), 5)
    for wrong in ((2, 5), (2, 3, 4, 5), (2, 6, None)):
        with pytest.raises(ValueError, match="batch, key, features"):
            checks.memory(wrong)
    with pytest.raises(ValueError, match="memory of 4 features"):
        checks.memory((2, 6, 5), 4)


def test_an_attention_layer_of_keras_has_no_memory():
    checks.attends_to_memory(DotAttention())
    with pytest.raises(ValueError, match="project a memory once"):
        checks.attends_to_memory(keras.layers.Attention())
