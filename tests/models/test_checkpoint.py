import json
import subprocess
import sys
import time

import keras
import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from keras_attn.base import wait_notice
from keras_attn.models import checkpoint as checkpoint_module
from keras_attn.models.checkpoint import Checkpoint
from tests.models import folders
from tests.models.folders import A
from tests.models.folders import B


@pytest.fixture
def folder(tmp_path):
    folders.write_shards(tmp_path)
    write_json(tmp_path, "config.json", size=3, kind="good", on=True, off=None)
    return tmp_path


def write_json(folder, file, **fields):
    (folder / file).write_text(json.dumps(fields))


def read(folder):
    checkpoint = Checkpoint(folder)
    checkpoint.prefix = "top."
    return checkpoint


def test_finds_tensors_in_their_shards_with_and_without_prefix(folder):
    checkpoint = read(folder)
    np.testing.assert_array_equal(checkpoint.tensor("a.weight"), A)
    np.testing.assert_array_equal(checkpoint.tensor("b.weight"), B)
    assert checkpoint.has("a.weight")
    assert not checkpoint.has("c.weight")
    with pytest.raises(ValueError, match=r"holds no tensor 'c.weight'"):
        checkpoint.tensor("c.weight")


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
    checkpoint.plan(layer.bias, "b.weight", change=lambda x: x[1:])
    checkpoint.finish(model)
    np.testing.assert_array_equal(layer.bias, B[1:])
    np.testing.assert_array_equal(layer.kernel, checkpoint.tensor("a.weight").T)


def test_fresh_layers_need_no_value(folder):
    layer = keras.layers.Dense(3)
    model = keras.Sequential([keras.Input((2,)), layer])
    read(folder).finish(model, fresh=[layer], unused=r"[ab]\.weight")


def test_tensors_that_no_weight_is_read_from_are_named(folder):
    model = keras.Sequential([keras.Input((2,))])
    with pytest.raises(ValueError, match=r"no place for: \['top.a.weight'\]"):
        read(folder).finish(model, unused=r"b\.weight")
    (folder / "model.safetensors.index.json").unlink()
    tensors = {f"x{number}": A for number in range(7)}
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"'x3', 'x4'\] and more\."):
        read(folder).finish(model)


def test_parts_have_settings_and_prefixes_of_their_own(folder):
    write_json(folder, "config.json", size=3, half={"size": 2, "kind": "a"})
    whole = Checkpoint(folder)
    top = whole.part("half", "top.")
    assert (whole.setting("size"), top.setting("size")) == (3, 2)
    with pytest.raises(ValueError, match=r"config.json has half.kind='a', wh"):
        top.setting("kind")
    with pytest.raises(ValueError, match=r"has size=3, which should be sett"):
        whole.part("size", "")
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    dense = model.layers[0]
    top.plan(dense.kernel, "a.weight")
    with pytest.raises(ValueError, match=r"gives no value to \['.*bias'\]"):
        whole.finish(model)
    whole.plan(dense.bias, "b.weight", change=lambda x: x[:2])
    whole.finish(model)
    np.testing.assert_array_equal(dense.kernel, A)
    np.testing.assert_array_equal(dense.bias, B[:2])


def test_a_shape_is_known_without_reading(folder):
    assert read(folder).shape("a.weight") == (3, 2)
    with pytest.raises(ValueError, match=r"holds no tensor 'c.weight'"):
        read(folder).shape("c.weight")


def test_a_weight_may_be_made_of_several_tensors(folder):
    variable = keras.Variable(np.zeros((3, 3), "float32"))
    checkpoint = read(folder)
    checkpoint.plan(
        variable,
        "a.weight",
        "b.weight",
        change=lambda a, b: np.concatenate([a, b[:3, None]], axis=1),
    )
    checkpoint.finish(keras.Sequential([keras.Input((2,))]))
    np.testing.assert_array_equal(variable[:, :2], A)
    np.testing.assert_array_equal(variable[:, 2], B[:3])


def test_a_long_read_tells_how_far_it_is(folder, capsys, monkeypatch):
    monkeypatch.setattr(
        wait_notice.WaitNotice.__init__,
        "__kwdefaults__",
        {
            "verbose": True,
            "after": 0.0,
        },
    )
    variable = keras.Variable(np.zeros((3, 2), "float32"))
    checkpoint = read(folder)

    def slowly(value):
        time.sleep(0.2)
        return value

    for _ in range(2):
        checkpoint.plan(variable, "a.weight", change=slowly)
    checkpoint.finish(keras.Sequential([keras.Input((2,))]), unused="b.*")
    assert f"reading {folder}, 1 of 2" in capsys.readouterr().err


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
    variable = keras.Variable(np.zeros(wanted, "float32"))
    value = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    (folder / "model.safetensors.index.json").unlink()
    save_file({"some": value}, folder / "model.safetensors")
    checkpoint = read(folder)
    if not fits:
        with pytest.raises(ValueError, match=r"'some' of .* does not fit"):
            checkpoint.plan(variable, "some")
        return
    checkpoint.plan(variable, "some")
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


def test_large_tables_are_read_in_blocks(folder, monkeypatch):
    monkeypatch.setattr(checkpoint_module, "_BLOCK", 4)  # two rows
    table = np.arange(14, dtype="float32").reshape(7, 2)
    (folder / "model.safetensors.index.json").unlink()
    save_file({"table": table}, folder / "model.safetensors")
    for skip in (0, 3):
        variable = keras.Variable(np.zeros((7 - skip, 2), "float32"))
        checkpoint = read(folder)
        checkpoint.table(variable, "table", skip=skip)
        checkpoint.finish(keras.Sequential([keras.Input((2,))]))
        np.testing.assert_array_equal(variable, table[skip:])


def test_a_fresh_layer_begins_with_its_own_values(folder):
    def network():
        ones = keras.layers.Dense(3, bias_initializer="ones")
        return keras.Sequential([keras.Input((2,)), ones])

    checkpoint = read(folder)
    model = checkpoint.make(network)
    assert not np.any(model.layers[0].bias)
    checkpoint.finish(model, fresh=model.layers, unused=".*")
    assert np.all(model.layers[0].bias.numpy() == 1)
    assert np.any(model.layers[0].kernel)


MEASURE = """
import re, sys
import tensorflow as tf
from keras_attn import models

def memory(name):
    with open("/proc/self/status") as file:
        return int(re.search(rf"{name}:\\s+(\\d+) kB", file.read())[1]) * 1024

models.GPT(7, num_layers=1, num_heads=1, units=4)(tf.constant([[1]]))
before = memory("VmRSS")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # forget the peak
model = models.from_huggingface(sys.argv[1], dtype=sys.argv[2])
size = tf.as_dtype(model.weights[0].dtype).size
print(memory("VmHWM") - before, size * model.count_params())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "layers"), [("float32", 12), ("bfloat16", 26)]
)
def test_reading_takes_little_more_memory_than_the_weights(
    tmp_path, dtype, layers
):
    rng = np.random.default_rng(0)
    sizes = {"vocab_size": 32_000, "n_embd": 768, "n_head": 12}
    sizes |= {"n_positions": 1024, "n_inner": 3072, "n_layer": layers}
    shapes = folders.gpt2(**sizes)[1]
    write_json(tmp_path, "config.json", model_type="gpt2", **sizes)
    tensors = {
        name: rng.standard_normal(shape, "float32").astype(
            ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
        )
        for name, shape in shapes.items()
    }
    save_file(tensors, tmp_path / "model.safetensors")
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, tmp_path, dtype],
        capture_output=True,
        text=True,
        check=True,
    )
    peak, weights = map(int, run.stdout.split())
    assert weights > 400e6
    assert weights < peak < 1.3 * weights
