import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from keras_attn.export.loader import loaded_model
from keras_attn.export.loader import worker
from tests.export.saved_modules import Echo


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return Echo().save(tmp_path_factory.mktemp("echo"), xla=True)


def ask(folder, *requests):
    signatures = loaded_model.read_signatures(loaded_model.read_graph(folder))
    return worker.run_each(
        folder,
        [loaded_model.request(signatures, *request) for request in requests],
    )


def test_each_request_gets_its_arrays_or_its_refusal(folder):
    x = np.array([[1.0, 2.0]], "float32")
    good, refused, compiled, again = ask(
        folder,
        ("scale", {"x": x}),
        ("check", {"text": np.array([b"far too long"], object)}),
        ("compiled_xla", {"x": x}),
        ("check", {"text": np.array([b"\xff\0a"], object)}),
    )
    assert good["arrays"][0].tolist() == [[3.0, 6.0]]
    assert 0 < good["seconds"] < 60
    assert refused["code"] == 3 and "too long" in refused["message"]
    assert "XLA compilation disabled" in compiled["message"]
    assert again["arrays"][0].tolist() == [b"\xff\0A"]


def test_bfloat16_crosses_the_border(tmp_path):
    path = tmp_path / "arrays.npz"
    array = np.array([1.5, 3.0], ml_dtypes.bfloat16)
    worker._write(path, [array, np.float64(2.5)])
    back, scalar = worker._read(path)
    assert back.dtype == ml_dtypes.bfloat16 and back.tolist() == [1.5, 3.0]
    assert scalar.shape == () and scalar == 2.5


def test_a_model_that_cannot_be_loaded_is_a_sentence(tmp_path):
    with pytest.raises(RuntimeError, match=r"^/.* cannot be loaded: Could not"):
        worker.run_each(tmp_path, [])


def test_a_process_that_breaks_down_tells_how(folder, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(RuntimeError, match=r"echo\d ended with status 1"):
        worker.run_each(folder, [])


def test_a_process_that_takes_too_long_is_stopped(folder):
    with pytest.raises(TimeoutError, match=r"within 0\.01 seconds"):
        worker.run_each(folder, [], timeout=0.01)


@pytest.mark.parametrize("name", worker.FORBIDDEN)
def test_the_answering_process_cannot_import(name):
    script = (
        "import runpy; "
        f"names = runpy.run_path({worker.__file__!r}); "
        f"names['forbid_imports'](); import {name}"
    )
    process = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True
    )
    assert f"import of {name} halted" in process.stderr
