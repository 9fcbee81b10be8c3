import json
import pathlib
import pickle

import ml_dtypes
import numpy as np
import pytest
import safetensors
from safetensors.numpy import save_file

from keras_attn.models.tensor_files import TensorFiles

A = np.arange(6, dtype="float32").reshape(3, 2)
B = np.array([7, 8, 9, 10], "float32")


@pytest.fixture
def folder(tmp_path):
    """Two shards, one tensor in each."""
    save_file({"top.a.weight": A}, tmp_path / "one.safetensors")
    save_file({"b.weight": B}, tmp_path / "two.safetensors")
    names = {"top.a.weight": "one.safetensors", "b.weight": "two.safetensors"}
    write_index(tmp_path, weight_map=names)
    return tmp_path


def write_index(folder, **fields):
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps(fields))


def test_finds_tensors_in_their_shards(folder):
    files = TensorFiles(folder)
    assert files.names == {"top.a.weight", "b.weight"}
    np.testing.assert_array_equal(files.read("top.a.weight"), A)
    assert files.shape("b.weight") == (4,)


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16, "float64"])
def test_reads_every_precision_as_float32(folder, dtype):
    (folder / "model.safetensors.index.json").unlink()
    values = np.array([[0.5, -3.0], [1.0, 2.25]])
    save_file({"a": values.astype(dtype)}, folder / "model.safetensors")
    tensor = TensorFiles(folder).read("a")
    assert tensor.dtype == "float32"
    np.testing.assert_array_equal(tensor, values)


def test_an_index_without_its_map_is_named(folder):
    write_index(folder, metadata={})
    with pytest.raises(
        ValueError, match=r"index.json has no field 'weight_map"
    ):
        TensorFiles(folder)


@pytest.mark.parametrize("keep", [-1, 20, 0], ids=["last", "head", "all"])
def test_a_truncated_file_is_named(folder, keep):
    path = folder / "one.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    files = TensorFiles(folder)
    with pytest.raises(ValueError, match=r"one.safetensors cannot be read"):
        files.read("top.a.weight")
    (folder / "model.safetensors.index.json").unlink()
    path.rename(folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"model.safetensors cannot be read"):
        TensorFiles(folder)


@pytest.mark.parametrize("error", [MemoryError, PermissionError, TypeError])
def test_only_damage_is_called_damage(folder, error, monkeypatch):
    def fail(*args, **kwargs):
        raise error("something else")

    files = TensorFiles(folder)
    monkeypatch.setattr(safetensors, "safe_open", fail)
    with pytest.raises(error, match="something else"):
        files.read("top.a.weight")


def test_an_index_does_not_lead_out_of_the_folder(folder):
    (folder / "inner").mkdir()
    for name in ("../one.safetensors", str(folder / "one.safetensors")):
        write_index(
            folder / "inner",
            weight_map={"top.a.weight": name},
        )
        with pytest.raises(ValueError, match=r"index.json names .* leads out"):
            TensorFiles(folder / "inner")


def test_files_may_be_links_as_in_a_cache_and_lie_deeper(folder):
    (folder / "blobs").mkdir()
    (folder / "one.safetensors").rename(folder / "blobs" / "0123")
    snapshot = folder / "snapshot"
    snapshot.mkdir()
    (snapshot / "one.safetensors").symlink_to(folder / "blobs" / "0123")
    (snapshot / "deep").mkdir()
    (folder / "two.safetensors").rename(snapshot / "deep" / "two.safetensors")
    names = {
        "top.a.weight": "one.safetensors",
        "b.weight": "deep/two.safetensors",
    }
    write_index(snapshot, weight_map=names)
    files = TensorFiles(snapshot)
    np.testing.assert_array_equal(files.read("top.a.weight"), A)
    np.testing.assert_array_equal(files.read("b.weight"), B)


@pytest.mark.parametrize(
    "file",
    ["pytorch_model.bin", "model.pt", "tf_model.h5", "flax_model.msgpack"],
)
def test_pickled_weights_are_never_opened(folder, file, tmp_path):
    """Whatever else a folder holds, only safetensors are read."""
    for path in folder.glob("*.safetensors*"):
        path.unlink()
    trap = tmp_path / "sprung"

    class Trap:
        def __reduce__(self):
            return pathlib.Path.touch, (trap,)

    (folder / file).write_bytes(pickle.dumps(Trap()))
    with pytest.raises(FileNotFoundError, match="holds no weights: neither"):
        TensorFiles(folder)
    # Nor if an index names it.
    names = {"top.a.weight": file}
    write_index(folder, weight_map=names)
    with pytest.raises(ValueError, match=f"{file} cannot be read"):
        TensorFiles(folder).read("top.a.weight")
    assert not trap.exists()
    pickle.loads((folder / file).read_bytes())
    assert trap.exists()


def test_a_tensor_that_its_shard_does_not_hold_is_an_error(folder):
    names = {"top.a.weight": "two.safetensors", "b.weight": "two.safetensors"}
    write_index(folder, weight_map=names)
    with pytest.raises(ValueError, match=r"two.safetensors cannot be read"):
        TensorFiles(folder).read("top.a.weight")
