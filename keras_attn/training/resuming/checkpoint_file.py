"""One checkpoint in one file, which is there as a whole or not at all."""

import json
import os
import pathlib
import zlib

import numpy as np
import tensorflow as tf

_MAGIC = b"keras_attn checkpoint 1\n"
# After the magic: the length of the header, its checksum.
_NUMBER = 8
PARTIAL = ".part"


class DamagedCheckpointError(ValueError):
    """A file is no checkpoint, or not all of one."""


def write(path: pathlib.Path, header: dict, arrays: list) -> None:
    """Write a file under another name, bring it to the disk and rename it.

    Args:
        path: Of the file; what is there is replaced.
        header: What JSON can hold, and no "arrays".
        arrays: NumPy arrays.

    Raises:
        OSError: If it cannot be written. Then there is nothing new.
    """
    arrays = [np.asarray(array, order="C") for array in arrays]
    described = [
        {
            "dtype": array.dtype.name,
            "shape": array.shape,
            "checksum": zlib.crc32(_bytes(array)),
        }
        for array in arrays
    ]
    text = json.dumps({**header, "arrays": described}).encode()
    partial = path.with_name(path.name + PARTIAL)
    try:
        with partial.open("wb") as file:
            file.write(_MAGIC)
            for number in (len(text), zlib.crc32(text)):
                file.write(number.to_bytes(_NUMBER, "little"))
            file.write(text)
            for array in arrays:
                file.write(_bytes(array))
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


def read(path: pathlib.Path) -> tuple[dict, list]:
    """Read a file, and check every byte of it.

    Args:
        path: Of the file.

    Returns:
        Its header and its arrays.

    Raises:
        DamagedCheckpointError: If it is not what `write` has written.
    """
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise DamagedCheckpointError(f"{path} is not a checkpoint.")
        length, checksum = (
            int.from_bytes(file.read(_NUMBER), "little") for _ in range(2)
        )
        # A damaged length may be any number.
        text = file.read(min(length, path.stat().st_size))
        # Of no text the checksum is 0 too.
        if not text or len(text) != length or zlib.crc32(text) != checksum:
            raise DamagedCheckpointError(f"{path} has a damaged header.")
        header = json.loads(text)
        arrays = [_read_array(file, path, x) for x in header.pop("arrays")]
        if file.read(1):
            raise DamagedCheckpointError(f"{path} is longer than it should be.")
    return header, arrays


def flush_folder(folder: pathlib.Path) -> None:
    """Bring the names in a folder to the disk."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _read_array(file, path, described):
    dtype = tf.as_dtype(described["dtype"]).as_numpy_dtype
    array = np.empty(described["shape"], dtype)
    wanted = array.nbytes
    received = file.readinto(_bytes(array)) if wanted else 0
    if received != wanted:
        raise DamagedCheckpointError(f"{path} is truncated.")
    if zlib.crc32(_bytes(array)) != described["checksum"]:
        raise DamagedCheckpointError(f"{path} has damaged values.")
    return array


def _bytes(array):
    # Not `memoryview(array)`: there is none of bfloat16.
    return array.reshape(-1).view(np.uint8).data
