import dataclasses
import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn import training
from keras_attn.training.accelerator import command_line
from keras_attn.training.accelerator.check import AcceleratorCheck

ANSWER = AcceleratorCheck(
    "a100",
    fits=True,
    reason="",
    compile_seconds=1.0,
    total_bytes=3 * 2**30,
    temporary_bytes=2**30,
    argument_bytes=2 * 2**30,
    bytes_moved=31_100_000_000,
    flops=10**12,
)
TINY = ["--set", "num_layers=1", "--set", "units=8", "--set", "num_heads=2"]


@pytest.fixture
def asked(monkeypatch):
    """What the compiler was asked; it gives one answer."""
    calls = []

    def answer(model, spec, **options):
        calls.append((model, spec, options))
        return dataclasses.replace(ANSWER, target=options["target"])

    monkeypatch.setattr(command_line, "accelerator_check_model", answer)
    return calls


def test_a_preset_is_made_and_asked_about(asked, capsys):
    words = "check GPT:gpt2 --batch 3 --length 5 --target a100".split()
    assert command_line.main([*words, *TINY, "--chips", "4"]) == 0
    ((model, (inputs, labels), options),) = asked
    assert model.compiled and model.config["units"] == 8
    assert model.dtype_policy.name == "mixed_bfloat16"
    assert inputs.shape == labels.shape == (3, 5)
    assert inputs.dtype == labels.dtype == tf.int32
    assert options["num_chips"] == 4 and options["step"] == "training"
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "GPT:gpt2, training, 3 rows, on a100:",
        "  memory      3.00 GiB of 39.4 (2.00 arguments, 1.00 temporary)",
        "  moves       31.1 GB, at 1,555 GB/s",
        "  computes    1.00 TFLOP, at 312 TFLOP/s",
        "  takes       at least 20.0 ms",
    ]


def test_a_file_is_read_with_its_own_loss(asked, tmp_path):
    inputs = keras.Input((4,))
    model = keras.Model(inputs, keras.layers.Dense(3)(inputs))
    model.compile(loss="mse")
    model.train_on_batch(np.zeros((1, 4)), np.zeros((1, 3)))
    model.save(tmp_path / "m.keras")
    assert command_line.main(["check", str(tmp_path / "m.keras")]) == 0
    ((read, (spec, labels), options),) = asked
    assert read.loss == "mse" and options["target"] == "v5e"
    assert spec.shape == (8, 4) and labels.shape == (8, 3)


def test_losses_that_take_classes_get_classes():
    inputs = keras.Input((4,))
    model = keras.Model(inputs, keras.layers.Dense(3)(inputs))
    for loss in (
        "sparse_categorical_crossentropy",
        training.MaskedCrossentropy(),
    ):
        model.compile(loss=loss)
        _, labels = command_line.batch_spec_of(model, 2, None)
        assert labels == tf.TensorSpec((2,), "int32")


def test_loops_replicas_and_the_largest_batch_are_told():
    check = dataclasses.replace(
        ANSWER, num_loops=2, all_reduce_bytes=3 * 10**9, largest_batch=48
    )
    lines = command_line.report(check, "it")
    assert "  all-reduce  3.00 GB, at 300 GB/s" in lines
    assert lines[-2] == (
        "  takes       more than, with 2 loops counted once: 30.0 ms"
    )
    assert lines[-1] == "  largest     48 rows"


def test_the_build_that_lowered_is_told():
    check = dataclasses.replace(ANSWER, lowered_by="tensorflow-tpu 2.20.0")
    lines = command_line.report(check, "it")
    assert lines[-1] == "  lowered by  tensorflow-tpu 2.20.0"


def test_a_refusal_ends_badly_with_the_reason(monkeypatch, capsys):
    refused = AcceleratorCheck("t4", False, "out of HBM", 1.0)
    monkeypatch.setattr(
        command_line, "accelerator_check_model", lambda *_, **__: refused
    )
    words = "check GPT:gpt2 --length 5 --target t4".split()
    assert command_line.main([*words, *TINY]) == 1
    assert "does not fit: out of HBM" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["GPT"], "a class and a preset of it"),
        (["Nothing:base"], "classes are .*'GPT'"),
        (["GPT:huge"], r"GPT has the presets \['gpt"),
        (["no/file.keras"], "There is no file 'no/file.keras'"),
        (["GPT:gpt2", *TINY], "Give --length"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(words, complaint, capsys, asked):
    assert command_line.main(["check", *words]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert re.search(complaint, error, re.DOTALL)


def test_several_outputs_need_the_specs_of_a_batch():
    inputs = keras.Input((4,))
    model = keras.Model(inputs, [inputs, keras.layers.Dense(3)(inputs)])
    with pytest.raises(ValueError, match=r"several outputs.*check_model"):
        command_line.batch_spec_of(model, 2, None)


def test_an_override_without_a_value_is_refused(capsys):
    with pytest.raises(SystemExit):
        command_line.main(["check", "GPT:gpt2", "--set", "units"])
    assert "expected NAME=VALUE" in capsys.readouterr().err
