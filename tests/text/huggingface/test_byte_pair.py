import json
import pathlib

import pytest

from keras_attn.text.huggingface import byte_pair
from keras_attn.text.segmentation.byte_letters import BYTE_LETTERS
from keras_attn.text.segmentation.pattern_split import PATTERNS

PATH = pathlib.Path("tokenizer.json")
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
SPLIT = {
    "type": "Split",
    "pattern": {"Regex": PATTERNS["llama3"]},
    "behavior": "Isolated",
    "invert": False,
}


def whole(*steps, **parts):
    tokens = [*BYTE_LETTERS, "Ġa", "aĠ", "Ġaa"]
    model = {
        "type": "BPE",
        "vocab": {token: number for number, token in enumerate(tokens)},
        "merges": ["a Ġ", ["Ġ", "a"]],
    }
    before = {"type": "Sequence", "pretokenizers": list(steps)}
    model.update(parts.pop("model", {}))
    return {"model": model, "pre_tokenizer": before, **parts}


def test_the_parts_of_llama_are_read():
    llama = whole(SPLIT, BYTES, model={"ignore_merges": True})
    tokenizer = byte_pair.read(PATH, llama, {})
    assert tokenizer.split == "llama3" and not tokenizer.nfc
    assert tokenizer.ignore_merges and not tokenizer.prefix_space
    # A word that no merge makes; without `ignore_merges` it is two tokens.
    assert tokenizer([" aa"]).to_list() == [[tokenizer.id_of("Ġaa")]]
    plain = byte_pair.read(PATH, whole(SPLIT, BYTES), {})
    assert len(plain([" aa"]).values) == 2


def test_the_parts_of_qwen_are_read():
    split = {**SPLIT, "pattern": {"Regex": PATTERNS["qwen2"]}}
    qwen = whole(split, BYTES, normalizer={"type": "NFC"})
    tokenizer = byte_pair.read(PATH, qwen, {})
    assert tokenizer.split == "qwen2" and tokenizer.nfc
    assert tokenizer(["e\u0301"]).to_list() == tokenizer(["é"]).to_list()


@pytest.mark.parametrize(
    ("file", "named"),
    [
        (whole(SPLIT, BYTES, normalizer={"type": "NFKC"}), "normalizer is"),
        (whole(SPLIT, BYTES, decoder={"type": "Fuse"}), "decoder is 'Fuse'"),
        (whole({"type": "Digits"}, BYTES), "pre_tokenizer is 'Digits'"),
        (whole(SPLIT, SPLIT, BYTES), "pre_tokenizer is"),
        (whole(SPLIT, {**BYTES, "use_regex": True}), "ByteLevel.use_regex"),
        (
            whole(SPLIT, {**BYTES, "add_prefix_space": True}),
            "ByteLevel.add_prefix_space",
        ),
        (
            whole({**SPLIT, "behavior": "Removed"}, BYTES),
            "Split.behavior and invert",
        ),
        (whole({**SPLIT, "pattern": {"Regex": "a"}}, BYTES), "Split.pattern"),
        (whole(BYTES, model={"dropout": 0.1}), "model.dropout"),
    ],
)
def test_other_parts_are_refused_by_name(file, named):
    with pytest.raises(ValueError, match=f"tokenizer.json: {named}"):
        byte_pair.read(PATH, file, {})


def test_lines_are_read_with_the_settings(tmp_path):
    ids = {token: number for number, token in enumerate([*BYTE_LETTERS, "ab"])}
    (tmp_path / "vocab.json").write_text(json.dumps(ids))
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\n")
    tokenizer = byte_pair.read_lines(tmp_path, {"add_prefix_space": True})
    assert len(tokenizer(["ab"]).values) == 2


@pytest.mark.peers
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("gpt2", 20_000),
        ("gpt2_prefix", 2000),
        ("roberta", 2000),
        ("llama3", 20_000),
        ("qwen2", 20_000),
    ],
)
def test_ids_and_text_are_those_of_hugging_face(name, count, tmp_path):
    from tests.text import peers

    peers.check_trained(name, tmp_path, count)
