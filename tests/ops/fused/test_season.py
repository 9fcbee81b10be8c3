import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys

import pytest
import tensorflow as tf

from keras_attn.ops.fused import season


@pytest.fixture
def versions(monkeypatch):
    """Set the versions of TensorFlow and of jax."""

    def set_versions(tensorflow, jax):
        monkeypatch.setattr(tf, "__version__", tensorflow)
        monkeypatch.setattr(importlib.metadata, "version", lambda name: jax)
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: jax)

    return set_versions


@pytest.mark.parametrize(
    ("tensorflow", "jax", "said"),
    [
        ("2.21.0", "0.10.2", "^$"),
        ("2.20.0", "0.7.2", "^$"),
        (
            "2.21.0",
            "0.7.2",
            r'0\.7\.2 is not of the season .*"jax>=0\.10,<0\.11',
        ),
        ("2.20.0", "0.10.2", r'pip install "jax>=0\.7,<0\.8"'),
        ("2.21.0", None, r"needs jax: pip install .*keras_attn\[tpu\]"),
        (
            "2.19.1",
            "0.10.2",
            r"is for TensorFlow 2\.20 and 2\.21\. .*tiled",
        ),
    ],
)
def test_a_jax_of_another_season_is_told(versions, tensorflow, jax, said):
    versions(tensorflow, jax)
    assert re.search(said, season.reason_against_jax())


def test_what_is_wrong_with_jax_is_an_import_error(versions):
    versions("2.21.0", "0.4.30")
    with pytest.raises(ImportError, match=r"jax 0\.4\.30 is not of the season"):
        season.import_jax()


@pytest.mark.accelerator
def test_jax_never_looks_for_a_tpu():
    program = (
        "from keras_attn.ops.fused.season import import_jax\n"
        "jax = import_jax()\n"
        "print([device.platform for device in jax.devices()])"
    )
    # As on a machine where jax would take a TPU by itself.
    environment = {k: v for k, v in os.environ.items() if k != "JAX_PLATFORMS"}
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.splitlines()[-1] == "['cpu']"
