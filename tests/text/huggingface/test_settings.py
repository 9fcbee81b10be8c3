import json

import pytest

from keras_attn.text.huggingface import settings


def test_files_are_read_as_one_and_the_config_comes_last(tmp_path):
    for name, content in (
        ("special_tokens_map.json", {"pad_token": "a", "unk_token": "b"}),
        ("tokenizer_config.json", {"pad_token": "c"}),
    ):
        (tmp_path / name).write_text(json.dumps(content))
    assert settings.read(tmp_path) == {"pad_token": "c", "unk_token": "b"}


def test_special_tokens_are_those_of_the_vocabulary():
    found = settings.special_tokens(
        {
            "bos_token": {"content": "<s>", "lstrip": False},
            "eos_token": "</s>",
            "pad_token": None,
            "mask_token": "<missing>",
        },
        ["<s>", "</s>", "a"],
    )
    assert found == {"start": "<s>", "end": "</s>"}


def test_a_file_that_holds_no_object_is_named(tmp_path):
    (tmp_path / "tokenizer_config.json").write_text("[]")
    with pytest.raises(ValueError, match=r"tokenizer_config.json must hold"):
        settings.read(tmp_path)
