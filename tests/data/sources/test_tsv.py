import re

import pytest
import tensorflow as tf

from keras_attn.data.sources.lines import CHUNK
from keras_attn.data.sources.tsv import tab_separated
from tests.data.source_files import pack


def rows(dataset):
    return [
        tuple(cell.decode() for cell in row.values())
        for row in dataset.as_numpy_iterator()
    ]


def test_the_first_two_columns_are_source_and_target(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("Go.\tVa !\tCC-BY\nHi.\tSalut !\n", "utf-8")
    pairs = tab_separated(path)
    assert list(pairs.element_spec) == ["source", "target"]
    assert rows(pairs) == [("Go.", "Va !"), ("Hi.", "Salut !")]


def test_columns_are_picked_by_their_place(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("a\tb\tc\nd\te\tf\n")
    picked = tab_separated(path, {"text": 2, "label": 0})
    assert list(picked.element_spec) == ["text", "label"]
    assert rows(picked) == [("c", "a"), ("f", "d")]


def test_quotes_are_characters_and_empty_cells_are_kept(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text('"a\tb"\n\t\nc \t d\n')
    assert rows(tab_separated(path)) == [('"a', 'b"'), ("", ""), ("c ", " d")]


def test_line_ends_marks_and_empty_lines_are_left_out(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes("\ufeffa\tb\r\n\r\n\nc\td".encode())
    assert rows(tab_separated([path, path])) == [("a", "b"), ("c", "d")] * 2


def test_a_header_is_skipped_in_every_file(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("name\na\tb\nc\td\n")
    packed = pack(tmp_path / "b.tsv.gz", b"name\ne\tf\n")
    both = tab_separated([path, packed], header=True)
    assert rows(both) == [("a", "b"), ("c", "d"), ("e", "f")]


def test_long_files_keep_their_order(tmp_path):
    path = tmp_path / "a.tsv"
    lines = [(f"s{k}", f"t{k}") for k in range(2 * CHUNK + 3)]
    path.write_text("\n".join("\t".join(line) for line in lines))
    assert rows(tab_separated(path)) == lines


def test_a_line_with_too_few_columns_is_named(tmp_path):
    good, bad = tmp_path / "good.tsv", tmp_path / "bad.tsv"
    good.write_text("a\tb\n")
    bad.write_text("a\tb\n\n" * CHUNK + "one\na\tb\nanother\n")
    rest = iter(tab_separated([good, bad]))
    assert next(rest)["source"] == b"a"
    match = re.escape(f"{bad}, line {2 * CHUNK + 1}, {2 * CHUNK + 3}]")
    with pytest.raises(tf.errors.InvalidArgumentError, match=match):
        list(rest)


def test_three_columns_are_asked_for_where_the_third_is_used(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("a\tb\n")
    with pytest.raises(tf.errors.InvalidArgumentError, match="3 columns"):
        list(tab_separated(path, {"text": 2}))


@pytest.mark.parametrize(
    "columns", [{}, {"text": -1}, {"text": "0"}, {"text": True}]
)
def test_columns_that_are_no_places_are_refused(tmp_path, columns):
    path = tmp_path / "a.tsv"
    path.write_text("a\tb\n")
    with pytest.raises(ValueError, match="its index, a whole number"):
        tab_separated(path, columns)
