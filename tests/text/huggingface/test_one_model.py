import json

import pytest

from keras_attn.text import Tokenizer
from keras_attn.text import UnigramTokenizer
from keras_attn.text import WordPieceTokenizer
from tests.text import sentence_piece_files as written

PIECES = [
    ("<unk>", 0.0, written.UNKNOWN),
    ("<s>", 0.0, written.CONTROL),
    ("</s>", 0.0, written.CONTROL),
    ("▁a", -1.5, written.NORMAL),
    ("b", -3.0, written.NORMAL),
]


def read(folder, name, **settings):
    (folder / name).write_bytes(written.model_proto(PIECES))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return Tokenizer.from_huggingface(folder)


def test_ids_are_those_of_the_model(tmp_path):
    tokenizer = read(tmp_path, "tokenizer.model", eos_token="</s>")
    assert isinstance(tokenizer, UnigramTokenizer)
    assert tokenizer(["ab?"]).to_list() == [[3, 4, 0]]
    assert tokenizer.end_id == 2 and tokenizer.template is None


def test_t5_has_further_tokens(tmp_path):
    added = {"6": {"content": "<extra_id_0>", "special": True}}
    tokenizer = read(
        tmp_path,
        "spiece.model",
        tokenizer_class="T5Tokenizer",
        extra_ids=2,
        added_tokens_decoder=added,
    )
    assert tokenizer.vocabulary[5:] == ["<extra_id_1>", "<extra_id_0>"]
    assert tokenizer(["ab<extra_id_0>"]).to_list() == [[3, 4, 6]]
    assert tokenizer.template.single == (("A", 0), (2, 0))


def test_xlm_r_has_its_own_tokens_first(tmp_path):
    tokenizer = read(tmp_path, "sentencepiece.bpe.model")
    assert tokenizer.vocabulary == [
        *("<s>", "<pad>", "</s>", "<unk>", "▁a", "b", "<mask>")
    ]
    assert tokenizer(["ab?"]).to_list() == [[4, 5, 3]]
    assert tokenizer.template.single == ((0, 0), ("A", 0), (2, 0))
    assert tokenizer.template.num_special(2) == 4


def test_another_kind_is_refused(tmp_path):
    (tmp_path / "spiece.model").write_bytes(
        written.model_proto(PIECES, trainer={3: 2})
    )
    with pytest.raises(ValueError, match=r"spiece\.model.*'bpe'"):
        Tokenizer.from_huggingface(tmp_path)
    (tmp_path / "spiece.model").write_bytes(written.model_proto(PIECES))
    with pytest.raises(ValueError, match="not a WordPieceTokenizer"):
        WordPieceTokenizer.from_huggingface(tmp_path)
