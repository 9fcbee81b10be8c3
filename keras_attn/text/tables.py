"""Lookup tables read from files, which a SavedModel takes along as assets."""

import pathlib
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from collections.abc import Mapping

import tensorflow as tf

# Both are what a `TextFileInitializer` takes for a key or a value.
_LINE = tf.string, tf.lookup.TextFileIndex.WHOLE_LINE
_NUMBER = tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER


class AssetFolder:
    """A temporary folder for tables' files, as long as their owner lives.

    TensorFlow copies a table's file into `assets/` when a SavedModel is
    written, so the file must be there until then.

    Args:
        owner: The object whose end is the end of the folder.
    """

    def __init__(self, owner):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="keras_attn_"))
        weakref.finalize(owner, shutil.rmtree, self.path, ignore_errors=True)

    def write(self, name: str, lines: Iterable[str]) -> str:
        """Write lines to a file of this name, and return its path."""
        path = self.path / name
        # TensorFlow ends lines at "\n" alone, and drops every "\r".
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for line in lines:
                if not line or "\n" in line or "\r" in line:
                    raise ValueError(
                        "A line of a table's file must not be empty and must "
                        f"not hold a line break. Received: {line!r}"
                    )
                file.write(line + "\n")
        return str(path)


def line_numbers(path: str, *, default: int) -> tf.lookup.StaticHashTable:
    """Table from a line (string) to its number (int64)."""
    lines = tf.lookup.TextFileInitializer(path, *_LINE, *_NUMBER)
    return tf.lookup.StaticHashTable(lines, default)


def lines_by_number(path: str, *, default: str) -> tf.lookup.StaticHashTable:
    """Table from a line's number (int64) to the line (string)."""
    lines = tf.lookup.TextFileInitializer(path, *_NUMBER, *_LINE)
    return tf.lookup.StaticHashTable(lines, default)


def constants(numbers: Mapping[bytes, int]) -> tf.lookup.StaticHashTable:
    """Table from a few strings (any bytes) to int64, -1 for others."""
    few = tf.lookup.KeyValueTensorInitializer(
        list(numbers), list(numbers.values()), tf.string, tf.int64
    )
    return tf.lookup.StaticHashTable(few, -1)


def words(
    folder: AssetFolder, lines: Iterable[str]
) -> tf.lookup.StaticHashTable:
    """Table from words to int64, -1 for others, of lines "word<tab>number"."""
    # A table without a line would be refused; no word has a tab within.
    path = folder.write("words.txt", list(lines) or ["\t-1"])
    return columns(path, tf.string, tf.int64, default=-1)


def columns(
    path: str, key_dtype, value_dtype, *, default, backwards: bool = False
) -> tf.lookup.StaticHashTable:
    """Table from the first to the second of two tab-separated columns.

    Args:
        path: The file.
        key_dtype: Of the column that is looked up.
        value_dtype: Of the column that is returned.
        default: The value for other keys.
        backwards: Whether the second column is looked up, not the first.
    """
    key, value = (1, 0) if backwards else (0, 1)
    lines = tf.lookup.TextFileInitializer(
        path, key_dtype, key, value_dtype, value, delimiter="\t"
    )
    return tf.lookup.StaticHashTable(lines, default)
