import gc
import pathlib

import pytest
import tensorflow as tf

from keras_attn.text import tables


class Owner:
    pass


def test_lines_and_numbers_find_each_other():
    owner = Owner()
    path = tables.AssetFolder(owner).write("v.txt", ["b", "é c", " ", "\u2028"])
    numbers = tables.line_numbers(path, default=-7)
    texts = ["é c", "\u2028", " ", "", "b"]
    assert numbers.lookup(tf.constant(texts)).numpy().tolist() == [
        1,
        3,
        2,
        -7,
        0,
    ]
    lines = tables.lines_by_number(path, default="?")
    found = lines.lookup(tf.constant([1, 0, 9, -1], tf.int64)).numpy()
    assert [text.decode() for text in found] == ["é c", "b", "?", "?"]


def test_columns_are_read_both_ways():
    owner = Owner()
    path = tables.AssetFolder(owner).write("c.txt", ["10\t3", "-4\t5"])
    table = tables.columns(path, tf.int64, tf.int64, default=0)
    keys = tf.constant([-4, 10, 3], tf.int64)
    assert table.lookup(keys).numpy().tolist() == [5, 3, 0]
    table = tables.columns(path, tf.int64, tf.int64, default=0, backwards=True)
    assert table.lookup(keys).numpy().tolist() == [0, 0, 10]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [(["a b\t3", "é\t0"], [0, 3, -1, -1]), ([], [-1] * 4)],
    ids=["some", "none"],
)
def test_words_find_their_numbers(lines, expected):
    owner = Owner()
    table = tables.words(tables.AssetFolder(owner), iter(lines))
    found = table.lookup(tf.constant(["é", "a b", "a", ""]))
    assert found.numpy().tolist() == expected


def test_files_live_as_long_as_their_owner():
    owner = Owner()
    path = pathlib.Path(tables.AssetFolder(owner).write("v.txt", ["a"]))
    gc.collect()
    assert path.read_text() == "a\n"
    del owner
    gc.collect()
    assert not path.parent.exists()


@pytest.mark.parametrize("line", ["a\nb", "a\r", ""])
def test_a_line_that_tensorflow_would_misread_is_refused(line):
    owner = Owner()
    with pytest.raises(ValueError, match="line break"):
        tables.AssetFolder(owner).write("v.txt", [line])
