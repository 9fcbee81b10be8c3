import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.base import argument_checks


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_integers_of_python_and_numpy_pass_as_pythons(value):
    found = argument_checks.integer(value, "size", at_least=3)
    assert found == 3
    assert type(found) is int


@pytest.mark.parametrize(
    "value", [2, 3.0, True, np.True_, "3", None, tf.constant(3)], ids=repr
)
def test_what_is_no_integer_or_too_low_gets_a_sentence(value):
    with pytest.raises(
        ValueError, match=r"`size` must be an integer of at least 3\. .*size="
    ):
        argument_checks.integer(value, "size", at_least=3)


def test_an_integer_may_be_any_and_may_have_a_reason():
    assert argument_checks.integer(-5, "id") == -5
    with pytest.raises(ValueError, match=r"an integer, not so\. Received"):
        argument_checks.integer(1.5, "id", reason="not so")


@pytest.mark.parametrize("value", [1e-4, 1, np.float32(0.5)])
def test_numbers_above_a_bound_pass(value):
    argument_checks.above(value, "peak")


@pytest.mark.parametrize(
    "value", [0, -1e-3, math.inf, math.nan, "0.1", None, True]
)
def test_other_numbers_are_refused(value):
    with pytest.raises(ValueError, match="`peak` must be a number above 0"):
        argument_checks.above(value, "peak")


def test_the_bound_may_be_another():
    with pytest.raises(ValueError, match=r"above 1\. Received: base=1"):
        argument_checks.above(1, "base", 1)


@pytest.mark.parametrize(
    ("check", "passes", "refused"),
    [
        (argument_checks.rate, [0, 0.9, np.float32(0.5)], [1, -0.1]),
        (argument_checks.share, [1, 0.1, np.float32(0.5)], [0, 1.1]),
    ],
)
def test_fractions_have_their_ends(check, passes, refused):
    for value in passes:
        check(value, "part")
    for value in [*refused, math.nan, None, True, "0.5"]:
        with pytest.raises(ValueError, match="`part` must be"):
            check(value, "part")


def test_an_unknown_choice_is_told_the_choices():
    with pytest.raises(ValueError, match=r"`score`.*'dot'.*'general'.*'dto'"):
        argument_checks.choice("dto", "score", ("dot", "general"))
    argument_checks.choice(None, "score", {None: 1})


def test_a_model_of_vectors_is_functional_and_returns_them():
    model = keras.Sequential([keras.Input((5, 3)), keras.layers.Flatten()])
    argument_checks.vector_model(model, "encoder")
    bad = keras.Sequential([keras.Input((5, 3)), keras.layers.Dense(2)])
    for value in (bad, keras.Sequential([keras.layers.Flatten()]), 3):
        with pytest.raises(
            ValueError, match=r"`encoder` must be 7, or a functional.*encoder="
        ):
            argument_checks.vector_model(value, "encoder", "7, or ")
