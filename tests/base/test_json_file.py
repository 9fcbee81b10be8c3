import pathlib

import pytest

from keras_attn.base import json_file


def test_fields_are_read(tmp_path):
    path = tmp_path / "some.json"
    path.write_bytes('{"a": [1, "é"], "b": null}'.encode())
    assert json_file.read_fields(path) == {"a": [1, "é"], "b": None}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "some.json is not valid JSON: Expecting"),
        (b'{"a": "\xff"}', "some.json is not valid JSON: 'utf-8' codec"),
        (b"[1, 2]", "some.json is not a JSON object with fields"),
    ],
    ids=["cut", "bytes", "list"],
)
def test_a_file_that_holds_no_fields_is_named(data, message, tmp_path):
    path = tmp_path / "some.json"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=message):
        json_file.read_fields(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file .*some.json"):
        json_file.read_fields(tmp_path / "some.json")


def test_a_text_is_parsed_or_its_file_is_named():
    path = pathlib.Path("some.json")
    assert json_file.parse("[1, 2]", path) == [1, 2]
    with pytest.raises(ValueError, match=r"^some.json is not valid JSON: "):
        json_file.parse("[1, 2", path)
