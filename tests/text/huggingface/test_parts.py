import pathlib

import pytest

from keras_attn.text.huggingface import parts

PATH = pathlib.Path("tokenizer.json")


def test_sequences_are_taken_apart():
    inner = {"type": "Sequence", "normalizers": [{"type": "NFC"}]}
    whole = {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [{"type": "Prepend"}, inner],
        },
        "decoder": None,
        "pre_tokenizer": {"type": "ByteLevel"},
    }
    steps = parts.steps(PATH, whole, "normalizer")
    assert parts.kinds(steps) == ["Prepend", "NFC"]
    assert parts.steps(PATH, whole, "decoder") == []
    assert parts.kinds(parts.steps(PATH, whole, "pre_tokenizer")) == [
        "ByteLevel"
    ]
    with pytest.raises(ValueError, match=r"tokenizer.json: 'decoder' must be"):
        parts.steps(PATH, {"decoder": 3}, "decoder")


def test_the_vocabulary_has_the_added_tokens_at_their_ids():
    whole = {
        "model": {"vocab": {"b": 1, "a": 0}},
        "added_tokens": [
            {"content": "a", "id": 0},
            {"content": "<x>", "id": 2},
        ],
    }
    assert parts.vocabulary(PATH, whole) == ["a", "b", "<x>"]
    whole["added_tokens"][1]["id"] = 1
    with pytest.raises(ValueError, match=r"tokenizer.json are not 0, 1, 2"):
        parts.vocabulary(PATH, whole)


def test_a_part_is_refused_by_name():
    with pytest.raises(ValueError, match=r"json: decoder is 'X'.*; Y is"):
        parts.refuse(PATH, "decoder", "X", "Y is")
