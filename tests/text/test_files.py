import json

import pytest

from keras_attn.text import CharacterTokenizer
from keras_attn.text import Tokenizer
from keras_attn.text import files
from keras_attn.text.special_tokens import DEFAULT


@pytest.fixture
def folder(tmp_path):
    CharacterTokenizer([*DEFAULT, *"ab"]).save(tmp_path / "new" / "folder")
    return tmp_path / "new" / "folder"


def test_a_folder_holds_plain_text(folder):
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["settings.json", "vocabulary.txt"]
    assert (folder / "vocabulary.txt").read_text().split() == [*DEFAULT, *"ab"]
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["kind"] == "CharacterTokenizer"


def test_saving_again_replaces(folder):
    CharacterTokenizer([*DEFAULT, *"xyz"]).save(folder)
    assert Tokenizer.load(folder).vocabulary[5:] == ["x", "y", "z"]


def test_a_file_that_changed_is_refused(folder):
    with (folder / "vocabulary.txt").open("a") as file:
        file.write("c\n")
    with pytest.raises(
        ValueError, match=r"vocabulary.txt is not the file that"
    ):
        Tokenizer.load(folder)


def test_settings_do_not_lead_out_of_the_folder(folder):
    path = folder / "settings.json"
    settings = json.loads(path.read_text())
    (folder.parent / "other.txt").write_text("a")
    for name in ("../other.txt", str(folder.parent / "other.txt")):
        settings["sha256"] = {name: "0"}
        path.write_text(json.dumps(settings))
        with pytest.raises(ValueError, match=r"settings.json names .* out of"):
            Tokenizer.load(folder)


def test_a_save_that_fails_leaves_the_old_one_whole(folder, monkeypatch):
    def full_disk(self, folder):
        (folder / "vocabulary.txt").write_text("half")
        raise OSError("No space left on device")

    monkeypatch.setattr(CharacterTokenizer, "write_vocabulary", full_disk)
    with pytest.raises(OSError, match="No space left"):
        CharacterTokenizer([*DEFAULT, *"xyz"]).save(folder)
    assert Tokenizer.load(folder).vocabulary[5:] == ["a", "b"]
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "settings.json is not valid JSON"),
        ("[]", "was not written by a tokenizer's `save`.*from_huggingface"),
        ('{"version": "1.0"}', "was not written by"),
        (
            '{"kind": "Other", "config": {}, "sha256": {}}',
            "names 'Other'; known are",
        ),
    ],
)
def test_settings_that_are_not_ours_are_refused(folder, text, message):
    (folder / "settings.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        Tokenizer.load(folder)


@pytest.mark.parametrize("name", ["settings.json", "vocabulary.txt"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        Tokenizer.load(folder)


def test_lines_end_at_line_feeds_alone(tmp_path):
    tokens = ["a", "", "\u2028", "\x85", "b\x0b", "c d"]
    files.write_lines(tmp_path / "v.txt", tokens)
    assert files.read_lines(tmp_path / "v.txt") == tokens
    (tmp_path / "v.txt").write_bytes(b"a\r\nb\r\nc")
    assert files.read_lines(tmp_path / "v.txt") == ["a", "b", "c"]


def test_a_token_with_a_line_break_is_refused(tmp_path):
    with pytest.raises(ValueError, match="line break"):
        files.write_lines(tmp_path / "v.txt", ["a\nb"])


def test_a_file_that_is_not_utf8_is_named(tmp_path):
    (tmp_path / "v.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"v.txt is not valid UTF-8"):
        files.read_lines(tmp_path / "v.txt")
