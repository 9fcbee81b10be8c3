import pytest

from keras_attn.text import CharacterTokenizer
from keras_attn.text.special_tokens import DEFAULT
from tests.text.contract import check_tokenizer

ODD_CHARACTERS = ["\n", "\r", "\t", "\\", "\x85", "\u2028", "\ufffd", "\0"]


def test_contract(tmp_path):
    characters = ["b", "a", "é", " ", "\U0001f44d", *ODD_CHARACTERS]
    tokenizer = CharacterTokenizer([*DEFAULT, *characters])
    check_tokenizer(tokenizer, ["ab é", "\r\n\\n\t"], tmp_path)


def test_an_id_is_a_place_in_the_vocabulary():
    tokenizer = CharacterTokenizer(["é", "<pad>", "?", "\n"], unknown_token="?")
    assert tokenizer(["é\né", "e"]).to_list() == [[0, 3, 0], [2]]
    assert tokenizer.pad_id == 1 and tokenizer.start_id is None


def test_known_characters_come_back_and_others_read_as_unknown():
    tokenizer = CharacterTokenizer([*DEFAULT, *"hé\n"])
    texts = ["hé\nhh", "hex", ""]
    strings = tokenizer.detokenize(tokenizer(texts)).numpy().tolist()
    assert strings == ["hé\nhh".encode(), b"h[UNK][UNK]", b""]


def test_two_code_points_are_two_tokens():
    tokenizer = CharacterTokenizer([*DEFAULT, "e", "\u0301", "é"])
    assert tokenizer(["é", "e\u0301"]).to_list() == [[7], [5, 6]]


def test_a_vocabulary_file_shows_line_breaks_as_signs(tmp_path):
    tokenizer = CharacterTokenizer([*DEFAULT, *"a\n\\"])
    tokenizer.save(tmp_path)
    lines = (tmp_path / "vocabulary.txt").read_text().splitlines()
    assert lines[5:] == ["a", "\\n", "\\\\"]


def test_a_word_is_no_character():
    with pytest.raises(ValueError, match=r"single characters.*'ab'"):
        CharacterTokenizer([*DEFAULT, "ab"])


def test_the_unknown_token_must_be_there():
    with pytest.raises(ValueError, match=r"unknown token '\[UNK\]' is not in"):
        CharacterTokenizer(["a", "b"])


def test_special_tokens_alone_are_no_vocabulary():
    with pytest.raises(ValueError, match="no single character"):
        CharacterTokenizer(DEFAULT)
