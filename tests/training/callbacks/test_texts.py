import numpy as np
import pytest

from keras_attn.training.callbacks import texts


def test_sources_are_counted_whatever_they_are():
    assert texts.check_sources(["a", "b"]) == 2
    assert texts.check_sources(np.zeros((3, 2, 2))) == 3


@pytest.mark.parametrize("sources", [[], np.zeros((0, 2)), "abc", iter("ab")])
def test_no_sources_and_no_list_are_refused(sources):
    with pytest.raises(ValueError, match="`sources` must"):
        texts.check_sources(sources)


def test_each_source_gets_a_list_of_references():
    assert texts.read_references(["a", "b"], 2) == [["a"], ["b"]]
    several = texts.read_references([("a", "b"), "c"], 2)
    assert several == [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    "references", [["a"], ["a", "b", "c"], "ab", [["a", "b"]]]
)
def test_another_number_of_references_is_refused(references):
    with pytest.raises(ValueError, match="one for each of the 2 sources"):
        texts.read_references(references, 2)


@pytest.mark.parametrize("wrong", [[], b"b", ["b", None], [b"b"]])
def test_a_source_without_references_that_are_strings_is_named(wrong):
    with pytest.raises(ValueError, match=r"Received: references\[1\]="):
        texts.read_references(["a", wrong], 2)


@pytest.mark.parametrize(
    "answer",
    [["x", "y"], ("x", "y"), np.array(["x", "y"]), np.array(["x", "y"], "O")],
)
def test_decode_may_return_any_list_of_strings(answer):
    assert texts.write_texts(lambda sources: answer, [1, 2], 2) == ["x", "y"]


def test_decode_gets_the_sources_as_they_were_given():
    sources = np.zeros((1, 2))
    given = []
    texts.write_texts(lambda x: given.append(x) or ["a"], sources, 1)
    assert given[0] is sources


@pytest.mark.parametrize(
    "answer",
    [["x"], ["x", "y", "z"], "xy", None, [b"x", b"y"], [1, 2], {"x": "y"}],
)
def test_other_answers_of_decode_are_refused(answer):
    with pytest.raises(ValueError, match="`decode` must return 2 strings"):
        texts.write_texts(lambda sources: answer, [1, 2], 2)


def test_an_error_shows_the_beginning_of_long_lists():
    with pytest.raises(ValueError) as error:
        texts.read_references(["a word"] * 1000, 2)
    assert "1000 in ['a word'" in str(error.value)
    assert len(str(error.value)) < 500
