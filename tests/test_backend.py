import os
import subprocess
import sys

import pytest


def _import_in_a_new_process(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("backend", ["numpy", "jax", "torch"])
def test_another_backend_is_refused_with_advice(backend):
    # None of these need be installed: ours is the first sentence to come.
    answer = _import_in_a_new_process(
        "import keras_attn", KERAS_BACKEND=backend
    )
    assert answer.returncode == 1
    assert f"backend is {backend!r}" in answer.stderr
    assert "KERAS_BACKEND=tensorflow" in answer.stderr


def test_a_backend_chosen_by_file_is_refused_too():
    answer = _import_in_a_new_process(
        "import keras; keras.backend.backend = lambda: 'jax';import keras_attn"
    )
    assert answer.returncode == 1
    assert "backend is 'jax'" in answer.stderr


def test_an_empty_choice_is_no_choice():
    answer = _import_in_a_new_process("import keras_attn", KERAS_BACKEND="")
    assert answer.returncode == 0, answer.stderr
