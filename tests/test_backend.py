import os
import runpy
import subprocess
import sys

import keras
import pytest

from keras_attn import backend


def _import_in_a_new_process(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("name", ["numpy", "jax", "torch"])
def test_another_backend_is_refused_with_advice(name):
    # None of these need be installed: ours is the first sentence to come.
    answer = _import_in_a_new_process("import keras_attn", KERAS_BACKEND=name)
    assert answer.returncode == 1
    assert f"backend is {name!r}" in answer.stderr
    assert "KERAS_BACKEND=tensorflow" in answer.stderr


def test_a_backend_chosen_by_file_is_refused_too(monkeypatch):
    monkeypatch.delenv("KERAS_BACKEND")
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ImportError, match="backend is 'jax'"):
        runpy.run_path(backend.__file__)


def test_an_empty_choice_is_no_choice(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "")
    runpy.run_path(backend.__file__)
