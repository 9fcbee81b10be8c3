"""Tab-separated text, a line for each example."""

import os
from collections.abc import Mapping
from collections.abc import Sequence

import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.data.sources.files import existing_files
from keras_attn.data.sources.lines import lines_in_chunks


def tab_separated(
    paths: str | os.PathLike | Sequence[str | os.PathLike],
    columns: Mapping[str, int] | None = None,
    *,
    header: bool = False,
) -> tf.data.Dataset:
    """Give the columns of tab-separated files.

    Files are read as they are needed, in the order given, so a line with too
    few columns stops the run when it is reached, with its number. Quotes are
    characters like any other. Columns that nobody asks for, carriage returns,
    a byte-order mark at the start of a file and lines without any character
    are left out; an empty column is an empty string.

    Args:
        paths: One path or several; names that end in `.gz` are unpacked.
        columns: The index of each value, counted from 0; by default
            `{"source": 0, "target": 1}`.
        header: Whether the first line of each file holds names, to be skipped.

    Returns:
        A dictionary of scalar strings, with the names of `columns`.
    """
    columns = {"source": 0, "target": 1} if columns is None else dict(columns)
    wrong = [
        index
        for index in columns.values()
        if not argument_checks.is_integer(index) or index < 0
    ]
    if not columns or wrong:
        raise ValueError(
            "`columns` gives each name its index, a whole number from 0. "
            f"Received: columns={columns}"
        )
    needed = max(columns.values()) + 1

    def split(path, numbers, lines):
        wanted = lines != ""
        if header:
            wanted &= numbers > 1
        numbers = numbers[wanted]
        cells = tf.strings.split(lines[wanted], "\t")
        short = cells.row_lengths() < needed
        indexs = tf.strings.as_string(numbers[short])
        complaint = tf.strings.join(
            [
                f"{needed} columns between tabs are wanted, and there are "
                "fewer in ",
                path,
                ", line ",
                tf.strings.reduce_join(indexs, separator=", "),
            ]
        )
        enough = tf.debugging.Assert(~tf.reduce_any(short), [complaint])
        # Gathering would fail first, without a word on the line.
        with tf.control_dependencies([enough]):
            starts = tf.identity(cells.row_starts())
        return {
            name: tf.gather(cells.values, starts + index)
            for name, index in columns.items()
        }

    return lines_in_chunks(existing_files(paths), split)
