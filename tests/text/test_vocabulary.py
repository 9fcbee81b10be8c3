import pytest

from keras_attn.text.vocabulary import Vocabulary


def test_an_id_is_a_place():
    vocabulary = Vocabulary(["b", " ", "a"])
    assert vocabulary.ids == {"b": 0, " ": 1, "a": 2}
    assert vocabulary.id_of("a") == 2 and len(vocabulary) == 3


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([], "is empty"),
        (["a", "b", "a"], "holds 'a' more than once"),
        (["a", 3], r"must hold strings .* Received: 3 at index 1"),
        (["a", b"b"], "must hold strings"),
        (["a", ""], "not empty"),
    ],
)
def test_a_list_that_is_no_vocabulary_is_refused(tokens, message):
    with pytest.raises(ValueError, match=message):
        Vocabulary(tokens)


def test_a_token_that_is_not_there_has_no_id():
    with pytest.raises(ValueError, match="'c' is not in the vocabulary of 2"):
        Vocabulary(["a", "b"]).id_of("c")
