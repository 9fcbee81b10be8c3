import gzip

import pytest
import tensorflow as tf

from keras_attn.data.sources import files
from keras_attn.data.sources.files import count_lines
from keras_attn.data.sources.files import existing_files
from keras_attn.data.sources.files import existing_folder
from keras_attn.data.sources.files import read_whole


def test_one_path_and_several_become_strings(tmp_path):
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("a")
    second.write_text("b")
    assert existing_files(first) == [str(first)]
    assert existing_files(str(first)) == [str(first)]
    assert existing_files([second, str(first)]) == [str(second), str(first)]


def test_the_home_folder_may_be_written_short(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.txt").write_text("a")
    assert existing_files("~/a.txt") == [str(tmp_path / "a.txt")]
    assert existing_folder("~") == str(tmp_path)
    assert read_whole("~/a.txt") == b"a"


def test_missing_files_are_named(tmp_path):
    (tmp_path / "there").write_text("a")
    with pytest.raises(FileNotFoundError, match=r"no file '.*/not_there'"):
        existing_files([tmp_path / "there", tmp_path / "not_there"])
    with pytest.raises(FileNotFoundError, match="is a folder"):
        existing_files(tmp_path)
    with pytest.raises(ValueError, match="No file was given"):
        existing_files([])
    with pytest.raises(FileNotFoundError, match="not_there"):
        read_whole(tmp_path / "not_there")
    with pytest.raises(FileNotFoundError, match="no file"):
        read_whole(tmp_path)
    with pytest.raises(NotADirectoryError, match=r"no folder '.*/there'"):
        existing_folder(tmp_path / "there")


CONTENT = bytes(range(256)) * 3


@pytest.mark.parametrize("read", [existing_files, read_whole])
def test_a_cut_or_damaged_gzip_file_is_refused(tmp_path, read):
    whole = gzip.compress(CONTENT)
    flipped = whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:]
    for number, wrong in enumerate((whole[:-9], flipped)):
        path = tmp_path / f"{number}.gz"
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match=rf"{number}.gz' is not a whole"):
            read(path)


def test_a_plain_file_named_as_packed_is_refused_where_the_name_decides(
    tmp_path,
):
    path = tmp_path / "plain.gz"
    path.write_bytes(b"plain")
    with pytest.raises(ValueError, match="rename it"):
        existing_files(path)
    assert read_whole(path) == b"plain"


def test_gzip_is_unpacked_whatever_its_name(tmp_path):
    path = tmp_path / "packed"
    path.write_bytes(gzip.compress(CONTENT) + gzip.compress(b"second"))
    assert read_whole(path) == CONTENT + b"second"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a",
        b"a\n",
        b"\n",
        b"\n\n",
        b"a\r\nb",
        b"a\n\r",
        b"\r",
        b"ab\n" * 9,
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_lines_are_counted_as_tensorflow_reads_them(
    tmp_path, monkeypatch, content, packed
):
    monkeypatch.setattr(files, "PIECE", 2)
    path = str(tmp_path / ("a.gz" if packed else "a"))
    with open(path, "wb") as file:
        file.write(gzip.compress(content) if packed else content)
    lines = tf.data.TextLineDataset(path, "GZIP" if packed else "")
    assert count_lines(path) == len(list(lines))
