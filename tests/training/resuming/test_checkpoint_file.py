import os

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.resuming import checkpoint_file
from keras_attn.training.resuming.checkpoint_file import DamagedCheckpointError

HEADER = {"step": 3, "names": ["é"], "best": None}
ARRAYS = [
    np.arange(6, dtype="float32").reshape(2, 3).T,
    np.array(7, "int64"),
    np.zeros((0, 2), "uint8"),
    np.array([True, False]),
    tf.constant([1.5, -2.0], "bfloat16").numpy(),
]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "one.state"
    checkpoint_file.write(path, HEADER, ARRAYS)
    return path


def test_what_is_read_is_what_was_written(path):
    header, arrays = checkpoint_file.read(path)
    assert header == HEADER
    for array, expected in zip(arrays, ARRAYS, strict=True):
        assert (array.dtype, array.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(array, expected)


def test_a_file_that_lacks_any_byte_is_damaged(path):
    whole = path.read_bytes()
    # Every byte of the beginning, and some of the rest.
    for length in [*range(60), *range(60, len(whole), 7)]:
        path.write_bytes(whole[:length])
        with pytest.raises(DamagedCheckpointError, match=str(path)):
            checkpoint_file.read(path)


def test_any_changed_byte_is_damage(path):
    whole = path.read_bytes()
    for place in [*range(60), *range(60, len(whole), 7)]:
        changed = bytearray(whole)
        changed[place] ^= 4
        path.write_bytes(changed)
        with pytest.raises(DamagedCheckpointError):
            checkpoint_file.read(path)


def test_more_bytes_are_damage(path):
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(DamagedCheckpointError, match="longer"):
        checkpoint_file.read(path)


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_failed_write_leaves_what_was_there(path, function, monkeypatch):
    def fail(*_):
        raise OSError("No space left on device")

    before = path.read_bytes()
    monkeypatch.setattr(os, function, fail)
    with pytest.raises(OSError, match="No space left"):
        checkpoint_file.write(path, {"step": 4}, ARRAYS)
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == before
