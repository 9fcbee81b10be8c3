import json

import pytest

from keras_attn.text import BytePairTokenizer
from keras_attn.text import Tokenizer
from keras_attn.text import WordPieceTokenizer
from keras_attn.text.segmentation.byte_letters import BYTE_LETTERS

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "Un", "un", "##e", "é"]
LETTERS = [*BYTE_LETTERS, "hu", "hug"]
MERGES = ["h u", "hu g"]


def write(folder, **texts):
    for name, content in texts.items():
        stem, _, ending = name.rpartition("_")
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / f"{stem}.{ending}").write_text(text, encoding="utf-8")


@pytest.fixture
def bert(tmp_path):
    write(tmp_path, vocab_txt="\n".join(PIECES) + "\n")
    return tmp_path


@pytest.fixture
def gpt2(tmp_path):
    tokens = [*LETTERS, "<|endoftext|>"]
    write(
        tmp_path,
        vocab_json={token: place for place, token in enumerate(tokens)},
        merges_txt="#version: 0.2\n" + "\n".join(MERGES) + "\n",
    )
    return tmp_path


def test_a_vocabulary_alone_is_uncased_as_bert_was_released(bert):
    tokenizer = Tokenizer.from_huggingface(bert)
    assert isinstance(tokenizer, WordPieceTokenizer)
    assert tokenizer.lowercase and tokenizer.strip_accents
    assert tokenizer(["Une"]).to_list() == [[6, 7]]
    assert tokenizer.start_id == 2 and tokenizer.end_id == 3


@pytest.mark.parametrize(
    ("settings", "ids"),
    [
        ({"do_lower_case": False}, [5, 8]),
        ({"do_lower_case": True}, [6, 1]),
        ({"do_lower_case": True, "strip_accents": False}, [6, 8]),
        ({"do_lower_case": False, "strip_accents": True}, [5, 1]),
    ],
)
def test_casing_and_accents_come_from_the_settings(bert, settings, ids):
    write(bert, tokenizer_config_json=settings)
    assert Tokenizer.from_huggingface(bert)(["Un é"]).to_list() == [ids]


def test_settings_do_not_lead_to_other_files(bert, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    write(other, vocab_txt="stranger\n", code_py="raise SystemExit")
    named = {
        "vocab_file": str(other / "vocab.txt"),
        "tokenizer_file": "../other/vocab.txt",
        "auto_map": {"AutoTokenizer": [str(other / "code.py"), None]},
    }
    write(bert, tokenizer_config_json=named, special_tokens_map_json=named)
    assert Tokenizer.from_huggingface(bert).vocabulary == PIECES


def test_special_tokens_come_from_the_settings(bert):
    write(
        bert,
        special_tokens_map_json={"pad_token": {"content": "é"}},
        tokenizer_config_json={"unk_token": "Un", "cls_token": "un"},
    )
    tokenizer = Tokenizer.from_huggingface(bert)
    assert tokenizer.pad_id == 8 and tokenizer.start_id == 6
    assert tokenizer.unknown_id == 5 and tokenizer.end_id == 3


def test_byte_pairs_are_read(gpt2):
    tokenizer = Tokenizer.from_huggingface(gpt2)
    assert isinstance(tokenizer, BytePairTokenizer)
    hug = tokenizer.id_of("hug")
    assert tokenizer(["hug"]).to_list() == [[hug]]
    assert tokenizer.end_id == tokenizer.start_id == len(LETTERS)
    assert tokenizer.pad_id is None


def test_the_one_file_form_is_read(tmp_path):
    write(
        tmp_path,
        tokenizer_json={
            "model": {
                "type": "WordPiece",
                "unk_token": "[UNK]",
                "vocab": {token: place for place, token in enumerate(PIECES)},
            },
            "normalizer": {"lowercase": True, "strip_accents": None},
        },
    )
    tokenizer = Tokenizer.from_huggingface(tmp_path)
    assert tokenizer(["Une"]).to_list() == [[6, 7]]
    assert tokenizer.strip_accents

    write(
        tmp_path,
        tokenizer_json={
            "model": {
                "type": "BPE",
                "vocab": {token: place for place, token in enumerate(LETTERS)},
                "merges": [merge.split() for merge in MERGES],
            },
            "added_tokens": [{"id": 258, "content": "<|endoftext|>"}],
        },
    )
    tokenizer = Tokenizer.from_huggingface(tmp_path)
    assert tokenizer(["hug"]).to_list() == [[257]]
    assert tokenizer.end_id == 258


def test_a_folder_of_another_kind_is_refused(bert):
    with pytest.raises(ValueError, match="holds a WordPieceTokenizer, not a"):
        BytePairTokenizer.from_huggingface(bert)


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        ({}, FileNotFoundError, r"neither vocab.txt, nor"),
        ({"vocab_json": {"a": 0}}, FileNotFoundError, r"merges.txt"),
        ({"vocab_json": "{"}, ValueError, r"vocab.json is not valid JSON"),
        (
            {"tokenizer_json": {"model": {"type": "Unigram"}}},
            ValueError,
            "type 'Unigram'",
        ),
        (
            {
                "vocab_json": {"a": 0},
                "merges_txt": "",
                "tokenizer_config_json": {"add_prefix_space": True},
            },
            ValueError,
            "add_prefix_space",
        ),
        (
            {
                "tokenizer_json": {
                    "model": {
                        "type": "WordPiece",
                        "unk_token": "a",
                        "vocab": {"a": 0, "b": 2},
                    }
                }
            },
            ValueError,
            "without gap",
        ),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, texts, error, message):
    write(tmp_path, **texts)
    with pytest.raises(error, match=message):
        Tokenizer.from_huggingface(tmp_path)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder .*missing"):
        Tokenizer.from_huggingface(tmp_path / "missing")
