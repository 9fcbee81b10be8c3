"""Text files: a line, a pair of lines or a whole file for each example."""

import os
from collections.abc import Callable
from collections.abc import Sequence

import tensorflow as tf

from keras_attn.data.sources.files import count_lines
from keras_attn.data.sources.files import existing_files

# Calling a function for each line costs more than the work on it.
CHUNK = 128

BYTE_ORDER_MARK = "^\ufeff"


def text_lines(
    paths: str | os.PathLike | Sequence[str | os.PathLike],
    *,
    keep_empty: bool = False,
) -> tf.data.Dataset:
    """Give each line of text files as an example.

    Files are read as they are needed, in the order given. Carriage returns, a
    byte-order mark at the start of a file and, unless they are kept, lines
    without any character are left out.

    Args:
        paths: One path or several; names that end in `.gz` are unpacked.
        keep_empty: Whether an empty line is an example, too.

    Returns:
        `{"text"}`, a scalar string.
    """

    def give(path, numbers, lines):
        del path, numbers
        return {"text": lines if keep_empty else lines[lines != ""]}

    return lines_in_chunks(existing_files(paths), give)


def text_documents(
    paths: str | os.PathLike | Sequence[str | os.PathLike],
) -> tf.data.Dataset:
    r"""Give each text file as an example, with its line ends as `\n`.

    Args:
        paths: One path or several; names that end in `.gz` are unpacked.

    Returns:
        `{"text"}`, a scalar string: the whole file, without a byte-order mark.
    """

    def read(path):
        content = tf.io.read_file(path)
        content = tf.cond(
            _is_packed(path),
            lambda: tf.io.decode_compressed(content, "GZIP"),
            lambda: content,
        )
        content = tf.strings.regex_replace(content, BYTE_ORDER_MARK, "")
        return {"text": tf.strings.regex_replace(content, r"\r\n", "\n")}

    return tf.data.Dataset.from_tensor_slices(existing_files(paths)).map(read)


def parallel_lines(
    source: str | os.PathLike,
    target: str | os.PathLike,
) -> tf.data.Dataset:
    """Pair line k of one file with line k of another.

    The lines of both files are counted first, in one pass, since a missing
    line would pair every later sentence wrongly. Then the files are read as
    they are needed. An empty line is an empty string, never left out.

    Args:
        source: Path of the sentences to translate; `.gz` is unpacked.
        target: Path of their translations.

    Returns:
        `{"source", "target"}`, scalar strings, as many as there are lines.

    Raises:
        ValueError: The files have different numbers of lines.
    """
    (source,) = existing_files(source)
    (target,) = existing_files(target)
    counts = count_lines(source), count_lines(target)
    if counts[0] != counts[1]:
        raise ValueError(
            "Line k of `source` and line k of `target` must belong together. "
            f"Received: {counts[0]} lines in {source!r}, {counts[1]} lines in "
            f"{target!r}. Make the files again so that no line is missing."
        )
    pairs = tf.data.Dataset.zip(
        {"source": _lines(source), "target": _lines(target)}
    )
    # A file that changes under the reader is told, not cut.
    return pairs.apply(tf.data.experimental.assert_cardinality(counts[0]))


def lines_in_chunks(paths: Sequence[str], give: Callable) -> tf.data.Dataset:
    """Make examples of lines, many lines at a time.

    Args:
        paths: Files that are there.
        give: Called as `give(path, numbers, lines)` in a graph, with the line
            numbers, counted from 1, and the lines: both (lines,). Returns a
            dictionary of (examples, ...).

    Returns:
        The unbatched dictionaries.
    """

    def read(path):
        def number(index, lines):
            numbers = tf.range(1, tf.size(lines, tf.int64) + 1)
            return give(path, index * CHUNK + numbers, lines)

        return _lines(path).batch(CHUNK).enumerate().map(number)

    return tf.data.Dataset.from_tensor_slices(paths).flat_map(read).unbatch()


def _lines(path):
    packed = tf.where(_is_packed(path), "GZIP", "")
    lines = tf.data.TextLineDataset(path, compression_type=packed)
    first = lines.take(1).map(
        lambda line: tf.strings.regex_replace(line, BYTE_ORDER_MARK, "")
    )
    return first.concatenate(lines.skip(1))


def _is_packed(path):
    return tf.strings.regex_full_match(path, r"(?s).*\.gz")
