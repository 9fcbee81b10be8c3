import keras
import pytest

from keras_attn.export.settings import tokenizer_checks
from keras_attn.text import WordTokenizer
from keras_attn.text.special_tokens import DEFAULT
from tests.export import writers


@pytest.fixture(scope="module")
def translator():
    return writers.transformer()


@pytest.fixture(scope="module")
def stranger():
    """A model that says nothing of itself but its output."""
    ids = keras.Input((None,), dtype="int32")
    return keras.Model(ids, keras.layers.Embedding(7, 9)(ids))


def test_only_learned_positions_limit_a_length(translator, stranger):
    assert tokenizer_checks.positions(writers.gpt(max_length=11)) == 11
    assert tokenizer_checks.positions(writers.gpt(position="sine")) is None
    assert tokenizer_checks.positions(translator) is None
    assert tokenizer_checks.positions(stranger) is None


def test_each_side_has_its_vocabulary(translator, stranger):
    assert tokenizer_checks.vocabulary_size(translator, "source") == 13
    assert tokenizer_checks.vocabulary_size(translator, "target") == 14
    assert tokenizer_checks.vocabulary_size(writers.gpt(), "target") == 14
    assert tokenizer_checks.vocabulary_size(stranger, "source") is None
    assert tokenizer_checks.vocabulary_size(stranger, "target") == 9


def test_the_tokenizer_of_the_training_is_taken(translator):
    tokenizer_checks.check_tokenizer(translator, writers.SOURCE, "source")
    tokenizer_checks.check_tokenizer(translator, writers.TARGET, "target")


def test_another_vocabulary_is_refused(translator):
    with pytest.raises(ValueError, match=r"knows 13 ids in its source.* 14"):
        tokenizer_checks.check_tokenizer(translator, writers.TARGET, "source")
    with pytest.raises(ValueError, match=r"knows 14 ids in its target.* 15"):
        tokenizer_checks.check_tokenizer(translator, writers.LARGER, "target")


def test_a_model_may_know_more_ids_than_its_tokenizer(translator):
    tokenizer_checks.check_tokenizer(translator, writers.SOURCE, "target")


@pytest.mark.parametrize("tokenizer", [None, "words", {"source": None}])
def test_what_is_no_tokenizer_is_refused(translator, tokenizer):
    with pytest.raises(ValueError, match="Transformer is exported with the"):
        tokenizer_checks.check_tokenizer(translator, tokenizer, "source")


def test_a_missing_special_token_is_refused(translator):
    special = [token for token in DEFAULT if token != "[END]"]
    endless = WordTokenizer([*special, *"abcdefghi"])
    with pytest.raises(ValueError, match="source's tokenizer has no end token"):
        tokenizer_checks.check_tokenizer(translator, endless, "source")
    tokenizer_checks.check_tokenizer(
        translator, endless, "source", parts=["pad"]
    )


def test_lengths_beyond_what_was_learned_are_refused():
    tokenizer_checks.check_length("max_length", 5, 5)
    tokenizer_checks.check_length("max_length", 5, None)
    with pytest.raises(ValueError, match=r"room for 5 tokens\. Received: max"):
        tokenizer_checks.check_length("max_length", 6, 5)
    for nothing in (0, -1, 2.5, "3"):
        with pytest.raises(ValueError, match="must be an integer"):
            tokenizer_checks.check_length("max_length", nothing, 5)


def test_an_id_that_the_model_does_not_know_is_refused(translator):
    tokenizer_checks.check_id("start_id", 0, translator, "source")
    tokenizer_checks.check_id("start_id", 12, translator, "source")
    for wrong in (13, -1, 2.5, "3"):
        with pytest.raises(ValueError, match=f"start_id.*{wrong}"):
            tokenizer_checks.check_id("start_id", wrong, translator, "source")
