import pytest
import tensorflow as tf

from keras_attn.text.text_batches import text_batches
from keras_attn.text.text_batches import with_progress


def read(texts):
    return [text for batch in text_batches(texts) for text in batch.numpy()]


def test_a_list_is_read():
    assert read(["a", b"\xff", "é"]) == [b"a", b"\xff", "é".encode()]
    assert read([]) == []


@pytest.mark.parametrize("axes", [(6,), (2, 3), (1, 2, 3)])
def test_datasets_are_read_batched_or_not(axes):
    letters = tf.reshape(list("abcdef"), axes)
    dataset = tf.data.Dataset.from_tensor_slices(letters)
    assert b"".join(read(dataset)) == b"abcdef"
    assert all(batch.shape.rank == 1 for batch in text_batches(dataset))


def test_lines_of_files_are_read(tmp_path):
    (tmp_path / "one.txt").write_bytes(b"a b\n\nc\r\n")
    (tmp_path / "two.txt").write_bytes("é".encode())
    paths = [tmp_path / "one.txt", tmp_path / "two.txt"]
    assert read(paths) == [b"a b", b"", b"c", "é".encode()]
    assert read(paths[1]) == ["é".encode()]


def test_progress_shows_how_many_texts_there_were(capsys):
    batches = text_batches(["a"] * 1030)
    assert sum(len(batch) for batch in with_progress(batches)) == 1030
    assert "1030" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        ("a text", "one string: 'a text'"),
        (["a", 3], "strings alone.*3"),
        (tf.data.Dataset.range(3), "dataset of strings.*int64"),
        (
            tf.data.Dataset.from_tensors({"text": "a"}),
            r"dataset of strings.*example\[\"text\"\]",
        ),
    ],
)
def test_other_things_are_refused(texts, complaint):
    with pytest.raises(ValueError, match=complaint):
        text_batches(texts)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no\.txt"):
        text_batches(tmp_path / "no.txt")
