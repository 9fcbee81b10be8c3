import ast
import importlib
import os
import pathlib
import subprocess
import sys

import keras
import pytest
import tensorflow as tf

from examples import flags
from examples import training_flags
from examples.training_flags import Training

EXAMPLES = pathlib.Path(flags.__file__).parent
FLAGS = ("--strategy", "--precision", "--jit_compile", "--checkpoints")


def trains(source):
    """Whether a program has flags and trains a model."""
    tree = ast.parse(source)
    has_flags = any(
        isinstance(node, ast.ClassDef) and node.name == "Config"
        for node in tree.body
    )
    return has_flags and any(
        isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") in ("fit", "train")
        for node in ast.walk(tree)
    )


PROGRAMS = sorted(
    path.stem for path in EXAMPLES.glob("*.py") if trains(path.read_text())
)


def test_the_programs_that_train_are_found():
    assert {"translate", "serve_translator", "reverse_digits"} < set(PROGRAMS)
    assert not {"show_data", "image_judges"} & set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_training_takes_the_flags(name, capsys):
    config = importlib.import_module(f"examples.{name}").Config
    with pytest.raises(SystemExit):
        flags.parse(config, ["--help"])
    shown = capsys.readouterr().out
    assert all(f"{flag} " in shown or f"{flag}," in shown for flag in FLAGS)
    given = [*("--checkpoints", "here", "--precision", "mixed_bfloat16")]
    config = flags.parse(config, [*given, "--jit_compile"])
    assert (config.checkpoints, config.jit_compile) == ("here", True)
    # Every model of theirs is made and compiled in the scope of the flags.
    source = (EXAMPLES / f"{name}.py").read_text()
    assert "config.scope()" in source or name == "serve_translator"
    assert "jit_compile=False" not in source


def test_models_have_the_precision_of_the_flags():
    before = keras.config.dtype_policy()
    with Training(strategy="cpu", precision="mixed_bfloat16").scope():
        layer = keras.layers.Dense(2)
    assert layer.compute_dtype == "bfloat16"
    assert keras.config.dtype_policy() == before


def test_all_models_of_a_run_have_the_same_strategy(monkeypatch):
    asked = []

    def make(name):
        asked.append(name)
        return tf.distribute.OneDeviceStrategy("/cpu:0")

    training_flags.devices.cache_clear()
    monkeypatch.setattr(training_flags.training, "strategy", make)
    try:
        # Where several machines are to meet, before anything is computed.
        config = flags.parse(Training, ["--strategy", "multi_worker"])
        assert asked == ["multi_worker"]
        for _ in range(2):
            with config.scope():
                model = keras.Sequential([keras.layers.Dense(2)])
            assert model.distribute_strategy is config.find_devices()
        assert asked == ["multi_worker"]
    finally:
        training_flags.devices.cache_clear()


def test_the_policy_is_put_back_after_an_error():
    before = keras.config.dtype_policy()
    with pytest.raises(KeyError), Training(precision="float64").scope():
        raise KeyError
    assert keras.config.dtype_policy() == before


def test_each_model_of_a_run_has_its_own_checkpoints():
    assert Training().checkpoints_of("one", 2) is None
    config = Training(checkpoints="run")
    assert config.checkpoints_of() == pathlib.Path("run")
    assert config.checkpoints_of("one", 2) == pathlib.Path("run", "one", "2")


# Two replicas on one machine, with the flags of a command.
PROGRAM = """
import sys
import tensorflow as tf

(cpu,) = tf.config.list_physical_devices("CPU")
two = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(cpu, two)
from examples import flags, language_model
language_model.main(flags.parse(language_model.Config, sys.argv[1:]))
"""


@pytest.mark.slow
def test_two_replicas_train_and_what_is_done_is_not_done_again(tmp_path):
    arguments = (
        "--strategy mirrored --checkpoints run --units 16 --num_layers 1 "
        "--num_heads 2 --steps 30 --num_written 20"
    ).split()
    first, second = (
        subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    )
    assert "30/30" in first
    assert "30/30" not in second
    assert "Continuing from run" in second
    # What it is worth, and what it writes.
    ends = [said[said.index("Held out") :] for said in (first, second)]
    assert ends[0] == ends[1]
