import json
import pathlib
import pickle

import keras
import ml_dtypes
import numpy as np
import pytest
import safetensors
from safetensors.numpy import save_file

from keras_attn.models.checkpoint import Checkpoint

A = np.arange(6, dtype="float32").reshape(3, 2)
B = np.array([7, 8, 9, 10], "float32")


@pytest.fixture
def folder(tmp_path):
    """Two shards, one tensor in each, one with a prefix."""
    save_file({"top.a.weight": A}, tmp_path / "one.safetensors")
    save_file({"b.weight": B}, tmp_path / "two.safetensors")
    names = {"top.a.weight": "one.safetensors", "b.weight": "two.safetensors"}
    write_json(tmp_path, "model.safetensors.index.json", weight_map=names)
    write_json(tmp_path, "config.json", size=3, kind="good", on=True, off=None)
    return tmp_path


def write_json(folder, file, **fields):
    (folder / file).write_text(json.dumps(fields))


def read(folder):
    return Checkpoint(folder, prefix="top.")


def test_finds_tensors_in_their_shards_with_and_without_prefix(folder):
    checkpoint = read(folder)
    np.testing.assert_array_equal(checkpoint.tensor("a.weight"), A)
    np.testing.assert_array_equal(checkpoint.tensor("b.weight"), B)
    assert checkpoint.has("a.weight")
    assert not checkpoint.has("c.weight")
    with pytest.raises(ValueError, match=r"holds no tensor 'c.weight'"):
        checkpoint.tensor("c.weight")


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16, "float64"])
def test_reads_every_precision_as_float32(folder, dtype):
    (folder / "model.safetensors.index.json").unlink()
    values = np.array([[0.5, -3.0], [1.0, 2.25]])
    save_file({"a": values.astype(dtype)}, folder / "model.safetensors")
    tensor = read(folder).tensor("a")
    assert tensor.dtype == "float32"
    np.testing.assert_array_equal(tensor, values)


def test_settings_must_be_there_and_be_what_is_supported(folder):
    checkpoint = read(folder)
    assert checkpoint.setting("size") == 3
    assert checkpoint.setting("depth", 5) == 5
    with pytest.raises(ValueError, match=r"config.json has no field 'depth'"):
        checkpoint.setting("depth")
    with pytest.raises(ValueError, match=r"kind='good', which should be a num"):
        checkpoint.setting("kind")
    checkpoint.expect(on=True, off=3, missing="any")
    with pytest.raises(ValueError, match=r"on=True; only False is supported"):
        checkpoint.expect(on=False)
    assert checkpoint.choose("kind", {"good": 7}, "bad") == 7
    assert checkpoint.choose("missing", {"bad": 8}, "bad") == 8
    with pytest.raises(ValueError, match=r"kind='good'; supported .*'nice'"):
        checkpoint.choose("kind", {"nice": 7}, "nice")


def test_a_weight_gets_a_value_only_if_everything_fits(folder):
    layer = keras.layers.Dense(3)
    layer.build((None, 2))
    before = layer.get_weights()
    checkpoint = read(folder)
    with pytest.raises(ValueError, match=r"holds no tensor 'a.bias'"):
        checkpoint.dense(layer, "a")
    model = keras.Sequential([keras.Input((2,)), layer])
    with pytest.raises(ValueError, match=r"no value to \['.*bias'\]"):
        checkpoint.finish(model)
    for one, two in zip(before, layer.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)
    checkpoint.plan(layer.bias, np.array([5.0, 6.0, 7.0]), "a.bias")
    checkpoint.finish(model)
    np.testing.assert_array_equal(layer.bias, [5, 6, 7])
    np.testing.assert_array_equal(layer.kernel, checkpoint.tensor("a.weight").T)


def test_fresh_layers_need_no_value(folder):
    layer = keras.layers.Dense(3)
    model = keras.Sequential([keras.Input((2,)), layer])
    read(folder).finish(model, fresh=[layer])


@pytest.mark.parametrize(
    ("shape", "wanted", "fits"),
    [
        ((6, 6), (6, 2, 3), True),
        ((6, 6), (2, 3, 6), True),
        ((6,), (2, 3), True),
        ((6, 6), (6, 1, 6), True),
        ((6,), (6, 1), True),
        ((6, 6), (4, 9), False),
        ((4, 6), (6, 4), False),
        ((4, 6), (3, 8), False),
        ((6,), (6, 2), False),
        ((6, 6), (6,), False),
    ],
)
def test_axes_may_be_split_and_nothing_else(folder, shape, wanted, fits):
    checkpoint = read(folder)
    variable = keras.Variable(np.zeros(wanted, "float32"))
    value = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    if not fits:
        with pytest.raises(ValueError, match=r"'some' of .* does not fit"):
            checkpoint.plan(variable, value, "some")
        return
    checkpoint.plan(variable, value, "some")
    np.testing.assert_array_equal(variable, np.zeros(wanted))
    model = keras.Sequential([keras.Input((2,))])
    checkpoint.finish(model)
    np.testing.assert_array_equal(variable, value.reshape(wanted))


def test_norms_may_have_their_old_names(folder):
    gamma, beta = np.arange(3, dtype="float32"), np.ones(3, "float32")
    (folder / "model.safetensors.index.json").unlink()
    for names in (("weight", "bias"), ("gamma", "beta")):
        tensors = dict(zip(names, (gamma, beta), strict=True))
        save_file(
            {f"n.{name}": value for name, value in tensors.items()},
            folder / "model.safetensors",
        )
        layer = keras.layers.LayerNormalization()
        model = keras.Sequential([keras.Input((3,)), layer])
        checkpoint = read(folder)
        checkpoint.norm(layer, "n")
        checkpoint.finish(model)
        np.testing.assert_array_equal(layer.gamma, gamma)
        np.testing.assert_array_equal(layer.beta, beta)


def test_a_missing_folder_or_file_is_named(folder):
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere"):
        read(folder / "nowhere")
    (folder / "two.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks two.safetensors"):
        read(folder)
    (folder / "model.safetensors.index.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"neither model.safetensors"):
        read(folder)
    (folder / "config.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"no file .*config.json"):
        read(folder)


@pytest.mark.parametrize(
    "file", ["config.json", "model.safetensors.index.json"]
)
def test_broken_json_is_named(folder, file):
    text = (folder / file).read_text()
    (folder / file).write_text(text[:-3])
    with pytest.raises(ValueError, match=rf"{file} is not valid JSON"):
        read(folder)
    (folder / file).write_text("[1, 2]")
    with pytest.raises(ValueError, match=rf"{file} is not a JSON object"):
        read(folder)


def test_an_index_without_its_map_is_named(folder):
    write_json(folder, "model.safetensors.index.json", metadata={})
    with pytest.raises(
        ValueError, match=r"index.json has no field 'weight_map"
    ):
        read(folder)


@pytest.mark.parametrize("keep", [-1, 20, 0], ids=["last", "head", "all"])
def test_a_truncated_file_is_named(folder, keep):
    path = folder / "one.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    checkpoint = read(folder)
    with pytest.raises(ValueError, match=r"one.safetensors cannot be read"):
        checkpoint.tensor("a.weight")
    (folder / "model.safetensors.index.json").unlink()
    path.rename(folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"model.safetensors cannot be read"):
        read(folder)


@pytest.mark.parametrize("error", [MemoryError, PermissionError, TypeError])
def test_only_damage_is_called_damage(folder, error, monkeypatch):
    def fail(*args, **kwargs):
        raise error("something else")

    checkpoint = read(folder)
    monkeypatch.setattr(safetensors, "safe_open", fail)
    with pytest.raises(error, match="something else"):
        checkpoint.tensor("a.weight")


def test_an_index_does_not_lead_out_of_the_folder(folder):
    (folder / "inner").mkdir()
    (folder / "config.json").rename(folder / "inner" / "config.json")
    for name in ("../one.safetensors", str(folder / "one.safetensors")):
        write_json(
            folder / "inner",
            "model.safetensors.index.json",
            weight_map={"top.a.weight": name},
        )
        with pytest.raises(ValueError, match=r"index.json names .* leads out"):
            read(folder / "inner")


def test_files_may_be_links_as_in_a_cache_and_lie_deeper(folder):
    (folder / "blobs").mkdir()
    (folder / "one.safetensors").rename(folder / "blobs" / "0123")
    snapshot = folder / "snapshot"
    snapshot.mkdir()
    (snapshot / "one.safetensors").symlink_to(folder / "blobs" / "0123")
    (snapshot / "deep").mkdir()
    (folder / "two.safetensors").rename(snapshot / "deep" / "two.safetensors")
    (folder / "config.json").rename(snapshot / "config.json")
    names = {
        "top.a.weight": "one.safetensors",
        "b.weight": "deep/two.safetensors",
    }
    write_json(snapshot, "model.safetensors.index.json", weight_map=names)
    checkpoint = read(snapshot)
    np.testing.assert_array_equal(checkpoint.tensor("a.weight"), A)
    np.testing.assert_array_equal(checkpoint.tensor("b.weight"), B)


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
        read(folder)
    # Nor if an index names it.
    names = {"top.a.weight": file}
    write_json(folder, "model.safetensors.index.json", weight_map=names)
    with pytest.raises(ValueError, match=f"{file} cannot be read"):
        read(folder).tensor("a.weight")
    assert not trap.exists()
    pickle.loads((folder / file).read_bytes())
    assert trap.exists()


def test_a_tensor_that_its_shard_does_not_hold_is_an_error(folder):
    names = {"top.a.weight": "two.safetensors", "b.weight": "two.safetensors"}
    write_json(folder, "model.safetensors.index.json", weight_map=names)
    with pytest.raises(ValueError, match=r"two.safetensors cannot be read"):
        read(folder).tensor("a.weight")
