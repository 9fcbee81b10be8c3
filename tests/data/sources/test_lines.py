import gzip

import pytest
import tensorflow as tf

from keras_attn.data.sources.lines import CHUNK
from keras_attn.data.sources.lines import lines_in_chunks
from keras_attn.data.sources.lines import parallel_lines
from keras_attn.data.sources.lines import text_documents
from keras_attn.data.sources.lines import text_lines
from tests.data.source_files import pack

MARK = "\ufeff".encode()


def values(dataset, name="text"):
    return [example[name].decode() for example in dataset.as_numpy_iterator()]


def test_every_line_of_every_file_is_an_example_in_order(tmp_path):
    first, second = tmp_path / "b.txt", tmp_path / "a.txt"
    first.write_bytes(b"one\ntwo")
    second.write_bytes(b"three\n")
    assert values(text_lines([first, second])) == ["one", "two", "three"]
    assert text_lines(first).element_spec == {
        "text": tf.TensorSpec((), "string")
    }


def test_windows_line_ends_and_the_mark_are_left_out(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(MARK + b"one\r\n" + MARK + b"two\r\n")
    assert values(text_lines([path, path])) == ["one", "\ufefftwo"] * 2


def test_only_a_line_feed_ends_a_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a\u2028b\x85c\x0bd\x0ce\nf", "utf-8")
    assert values(text_lines(path)) == ["a\u2028b\x85c\x0bd\x0ce", "f"]


def test_empty_lines_are_kept_on_demand(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\none\n\r\n \n\n")
    assert values(text_lines(path)) == ["one", " "]
    assert values(text_lines(path, keep_empty=True)) == [
        *("", "one", "", " ", "")
    ]


def test_packed_files_are_read_among_others_and_to_their_last_part(tmp_path):
    plain = tmp_path / "a.txt"
    plain.write_bytes(b"one\n")
    packed = tmp_path / "b.txt.gz"
    packed.write_bytes(gzip.compress(MARK + b"two\n") + gzip.compress(b"three"))
    assert values(text_lines([plain, packed])) == ["one", "two", "three"]
    assert values(text_documents([plain, packed])) == ["one\n", "two\nthree"]


def test_a_document_is_a_whole_file_with_its_empty_lines(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(MARK + "Où?\r\n\r\nIci.\r".encode())
    assert values(text_documents([path, path])) == ["Où?\n\nIci.\r"] * 2
    assert text_documents(path).cardinality() == 1


def test_lines_are_paired_and_counted(tmp_path):
    source = tmp_path / "a.en"
    source.write_bytes(MARK + b"one\r\n\nthree")
    target = pack(tmp_path / "a.fr.gz", b"un\ndeux\n\n")
    pairs = parallel_lines(source, target)
    assert values(pairs, "source") == ["one", "", "three"]
    assert values(pairs, "target") == ["un", "deux", ""]
    assert pairs.cardinality() == 3


def test_files_of_different_length_are_refused_with_both_numbers(tmp_path):
    short, long = tmp_path / "short", tmp_path / "long"
    short.write_text("a\n" * (CHUNK + 2))
    long.write_text("a\n" * (2 * CHUNK + 3))
    match = (
        rf"{CHUNK + 2} lines in '.*short', {2 * CHUNK + 3} lines in '.*long'"
    )
    with pytest.raises(ValueError, match=match):
        parallel_lines(short, long)
    with pytest.raises(ValueError, match=r"long.*short"):
        parallel_lines(long, short)


def test_a_file_that_is_cut_after_it_was_counted_is_told(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("a\nb\nc\n")
    target.write_text("a\nb\nc\n")
    pairs = parallel_lines(source, target)
    target.write_text("a\nb\n")
    with pytest.raises(tf.errors.FailedPreconditionError, match="3 elements"):
        list(pairs)


def test_chunks_know_their_file_and_line_numbers(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("a\n" * (CHUNK + 2))
    second.write_text("a\n" * 3)

    def give(path, numbers, lines):
        return {"path": tf.fill(tf.shape(lines), path), "number": numbers}

    given = [
        (example["path"].decode(), int(example["number"]))
        for example in lines_in_chunks(
            [str(first), str(second)], give
        ).as_numpy_iterator()
    ]
    assert given == [
        *((str(first), number + 1) for number in range(CHUNK + 2)),
        *((str(second), number + 1) for number in range(3)),
    ]
