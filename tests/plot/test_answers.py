import numpy as np
import pytest
import tensorflow as tf

from keras_attn.plot.answers import as_weights
from keras_attn.plot.answers import check_answer
from keras_attn.plot.answers import label


def test_weights_of_any_precision_become_numbers():
    weights = as_weights(tf.constant([0.5, 0.25], "bfloat16"))
    assert weights.dtype == "float64"
    assert weights.tolist() == [0.5, 0.25]


@pytest.mark.parametrize("value", [-0.5, np.nan, np.inf])
def test_what_is_no_weight_is_refused(value):
    with pytest.raises(ValueError, match="finite and not negative"):
        as_weights([0.5, value])


def test_an_answer_must_have_what_is_drawn_and_the_row():
    answer = {"weights": np.ones((2, 1)), "answer_lengths": [1, 0]}
    names = "weights", "answer_lengths"
    check_answer(answer, names, 0)
    with pytest.raises(ValueError, match="without: text"):
        check_answer(answer, ("text", *names), 0)
    with pytest.raises(ValueError, match=r"the answer's 2, .*row=2"):
        check_answer(answer, names, 2)
    with pytest.raises(ValueError, match="row 1 was not valid"):
        check_answer(answer, names, 1)


def test_a_label_is_one_line_of_text():
    assert [label(x) for x in (b"a", 7, " ", "x" * 30)] == [
        *("a", "7", "␣", "x" * 23 + "…")
    ]
