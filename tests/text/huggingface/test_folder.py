import json

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.text import BytePairTokenizer
from keras_attn.text import Tokenizer
from keras_attn.text import WordPieceTokenizer
from keras_attn.text import layouts
from keras_attn.text.segmentation.byte_letters import BYTE_LETTERS
from tests import cpp_loader

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
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
            "added_tokens": [{"id": 258, "content": "<|endoftext|>"}],
        },
    )
    tokenizer = Tokenizer.from_huggingface(tmp_path)
    assert tokenizer(["hug"]).to_list() == [[257]]
    assert tokenizer.end_id == 258


def test_tokenizer_json_wins_over_other_files(bert):
    tokens = [*PIECES, "Une"]
    write(
        bert,
        tokenizer_json={
            "model": {
                "type": "WordPiece",
                "unk_token": "[UNK]",
                "vocab": {token: place for place, token in enumerate(tokens)},
            },
            "added_tokens": [{"id": 4, "content": "[MASK]", "special": True}],
            "post_processor": {
                "type": "BertProcessing",
                "sep": ["[SEP]", 3],
                "cls": ["[CLS]", 2],
            },
        },
    )
    tokenizer = Tokenizer.from_huggingface(bert)
    assert tokenizer(["Une[MASK]"]).to_list() == [[9, 4]]
    assert tokenizer.template.ids() == {2, 3}
    assert [token["content"] for token in tokenizer.added_tokens] == ["[MASK]"]


def test_a_prefix_space_comes_from_the_settings(gpt2):
    write(gpt2, tokenizer_config_json={"add_prefix_space": True})
    tokenizer = Tokenizer.from_huggingface(gpt2)
    space, hug = tokenizer.id_of("\u0120"), tokenizer.id_of("hug")
    assert tokenizer(["hug", " hug", ""]).to_list() == [[space, hug]] * 2 + [[]]


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
            {"tokenizer_json": {"model": {"type": "WordLevel"}}},
            ValueError,
            "type 'WordLevel'",
        ),
        ({"tokenizer_json": []}, ValueError, "it has no 'model'"),
        (
            {"tokenizer_json": {"model": {"type": "WordPiece", "vocab": {}}}},
            ValueError,
            "tokenizer.json lacks the key 'unk_token'",
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


@pytest.mark.peers
def test_tokenizers_of_folders_are_served_as_in_python(tmp_path):
    """One SavedModel with a signature for each kind, in the C++ loader."""
    from tests.text import peers

    module, texts = tf.Module(), {}
    module.tokenizers, module.functions = {}, {}
    for name in ("qwen2", "llama2", "llama3"):
        peer = peers.trained(name)
        tokenizer = peers.read_back(peer, tmp_path / name)
        module.tokenizers[name] = tokenizer
        module.functions[name] = both_ways(tokenizer)
        texts[name] = [*peers.lines_to_read()[:50], *peers.fuzzed(300, peer)]
    tf.saved_model.save(
        module, str(tmp_path / "served"), dict(module.functions)
    )
    requests = [
        (name, {"text": np.array([t.encode() for t in lines], dtype=object)})
        for name, lines in texts.items()
    ]
    answers = cpp_loader.run_requests(tmp_path / "served", requests)
    for (name, lines), answer in zip(texts.items(), answers, strict=True):
        expected = module.functions[name](tf.constant(lines))
        for key, tensor in expected.items():
            assert answer[key].tolist() == tensor.numpy().tolist(), name
    ops = cpp_loader.op_names(tmp_path / "served")
    ops -= cpp_loader.function_names(tmp_path / "served")
    assert {op for op in ops if not hasattr(tf.raw_ops, op)} == set()


def both_ways(tokenizer):
    def run(text):
        ids = tokenizer(text)
        row = layouts.prompt_row(tokenizer, ids)
        back = tokenizer.detokenize(ids)
        return {"ids": row.values, "lengths": row.row_lengths(), "text": back}

    spec = tf.TensorSpec([None], tf.string, "text")
    return tf.function(run, input_signature=[spec], autograph=False)
