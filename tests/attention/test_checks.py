import pytest

from keras_attn.attention import checks


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
