"""Files that are there, whole and readable, or a sentence that says why not."""

import gzip
import os
import zlib
from collections.abc import Sequence

import tensorflow as tf

GZIP_MAGIC = b"\x1f\x8b"
PIECE = 1 << 20  # bytes read at a time


def existing_files(
    paths: str | os.PathLike | Sequence[str | os.PathLike],
) -> list[str]:
    """List the files to read, each of them seen to be there and whole.

    TensorFlow reads a cut or damaged gzip file as far as it can and says
    nothing, so a name that ends in `.gz` is unpacked once, piece by piece, to
    compare it with its own checksum.

    Args:
        paths: One path or several, local or remote (`gs://...`).

    Returns:
        The paths as strings, in the order given.

    Raises:
        ValueError: No path was given, or a gzip file is damaged.
        FileNotFoundError: A path is missing or is a folder.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    names = [os.path.expanduser(os.fspath(path)) for path in paths]
    if not names:
        raise ValueError("No file was given. Pass one path or a list of them.")
    for name in names:
        if not tf.io.gfile.exists(name):
            raise FileNotFoundError(f"There is no file {name!r}.")
        if tf.io.gfile.isdir(name):
            raise FileNotFoundError(
                f"{name!r} is a folder and a file is wanted. Pass the paths of "
                "the files in it."
            )
        if name.endswith(".gz"):
            for _ in _pieces(name):
                pass
    return names


def existing_folder(path: str | os.PathLike) -> str:
    """Give the path of a folder as a string, seen to be there.

    Raises:
        NotADirectoryError: It is missing or is a file.
    """
    name = os.path.expanduser(os.fspath(path))
    if not tf.io.gfile.isdir(name):
        raise NotADirectoryError(f"There is no folder {name!r}.")
    return name


def count_lines(path: str) -> int:
    """Count lines as TensorFlow's reader does, holding one piece at a time."""
    count, last = 0, b"\n"
    for piece in _pieces(path):
        # The reader leaves carriage returns out, wherever they are.
        piece = piece.replace(b"\r", b"")
        count += piece.count(b"\n")
        last = piece[-1:] or last
    return count + (last != b"\n")


def read_whole(path: str | os.PathLike) -> bytes:
    """Read a file of moderate size at once, unpacked if it is gzip.

    The first two bytes tell, not the name: browsers unpack files and leave
    them their `.gz`.

    Raises:
        ValueError: The gzip file is damaged.
        FileNotFoundError: The path is missing or is a folder.
    """
    name = os.path.expanduser(os.fspath(path))
    if not tf.io.gfile.exists(name) or tf.io.gfile.isdir(name):
        raise FileNotFoundError(f"There is no file {name!r}.")
    with tf.io.gfile.GFile(name, "rb") as file:
        content = file.read()
    if not content.startswith(GZIP_MAGIC):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise _damaged(name, error) from error


def _pieces(name):
    """Yield the content of a file, unpacked if its name ends in `.gz`."""
    with tf.io.gfile.GFile(name, "rb") as file:
        if name.endswith(".gz"):
            file = gzip.GzipFile(fileobj=file)
        try:
            while piece := file.read(PIECE):
                yield piece
        except (OSError, EOFError, zlib.error) as error:
            raise _damaged(name, error) from error


def _damaged(name, error):
    return ValueError(
        f"{name!r} is not a whole gzip file: {error} Download or pack it "
        "again, or rename it if it is not packed."
    )
