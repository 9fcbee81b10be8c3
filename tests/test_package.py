import os
import subprocess
import sys


def test_another_backend_is_refused_with_advice():
    answer = subprocess.run(
        [sys.executable, "-c", "import keras_attn"],
        env={**os.environ, "KERAS_BACKEND": "numpy"},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 1
    assert "backend is 'numpy'" in answer.stderr
    assert "KERAS_BACKEND=tensorflow" in answer.stderr
