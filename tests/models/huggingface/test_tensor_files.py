import json
import pathlib
import pickle

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from keras_attn.models.huggingface.tensor_files import TensorFiles
from tests.models import folders
from tests.models.folders import A
from tests.models.folders import B


@pytest.fixture
def folder(tmp_path):
    folders.write_shards(tmp_path)
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
    rows = TensorFiles(folder).read_rows("a", 1, 2)
    assert rows.dtype == "float32"
    np.testing.assert_array_equal(rows, values[1:])


def test_every_bfloat16_is_read_as_it_is(folder):
    (folder / "model.safetensors.index.json").unlink()
    values = np.arange(2**16, dtype="uint16").view(ml_dtypes.bfloat16)
    save_file({"a": values}, folder / "model.safetensors")
    np.testing.assert_array_equal(
        TensorFiles(folder).read("a"), values.astype("float32")
    )


def write_header(path, header, rest=b""):
    if not isinstance(header, bytes):
        header = json.dumps(header).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + rest)


def field(**changes):
    good = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
    return good | changes


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"{", "header is wrong"),
        (b"[3]", "header is wrong"),
        (b"\xff", "header is wrong"),
        ({"a": 5}, "header is wrong"),
        ({"a": {"dtype": "F32", "shape": [2, 3]}}, "'data_offsets'"),
        ({"a": field(shape=[2, 4])}, "as long as its shape says"),
        ({"a": field(shape=[-2, -3])}, "no whole number"),
        ({"a": field(shape=[6.0])}, "no whole number"),
        ({"a": field(data_offsets=[1, 25])}, "beyond the end"),
    ],
)
def test_a_wrong_header_is_one_sentence(tmp_path, header, reason):
    write_header(tmp_path / "model.safetensors", header, bytes(24))
    with pytest.raises(ValueError, match=reason) as caught:
        TensorFiles(tmp_path)
    assert "model.safetensors cannot be read" in str(caught.value)


def test_a_pointer_of_git_is_named(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0")
    with pytest.raises(ValueError, match="Git LFS"):
        TensorFiles(tmp_path)


def test_another_precision_is_refused_by_name(tmp_path):
    small = field(dtype="F8_E4M3", data_offsets=[0, 6])
    write_header(tmp_path / "model.safetensors", {"a": small}, bytes(6))
    with pytest.raises(ValueError, match="tensor 'a' as F8_E4M3; supported"):
        TensorFiles(tmp_path).shape("a")


def test_a_file_that_shrinks_meanwhile_is_named(folder):
    files = TensorFiles(folder)
    assert files.shape("top.a.weight") == (3, 2)
    path = folder / "one.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"one.safetensors cannot be read"):
        files.read("top.a.weight")


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
    monkeypatch.setattr(np, "fromfile", fail)
    with pytest.raises(error, match="something else"):
        files.read("top.a.weight")
    monkeypatch.setattr(pathlib.Path, "open", fail)
    with pytest.raises(error, match="something else"):
        files.read("b.weight")


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
    with pytest.raises(FileNotFoundError, match="holds no weights") as caught:
        TensorFiles(folder)
    # With the command that converts it.
    converts = f'save_pretrained(sys.argv[1])" {folder}' in str(caught.value)
    assert converts == (file == "pytorch_model.bin")
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
