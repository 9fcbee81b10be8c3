"""A script that answers in a file, run in a process of its own."""

import json
import os
import pathlib
import subprocess
import tempfile

# TensorFlow tells its children where it found a libtpu, which need not be the
# one that they are to use.
_NOT_INHERITED = {"TPU_LIBRARY_PATH"}


def ask(
    script: str,
    question: bytes,
    *args: str,
    python: str,
    name: str,
    timeout: float | None,
    **environment: str,
) -> dict:
    """Let a script of this room read a file and answer in another.

    Args:
        script: Its file's name.
        question: What it reads.
        args: What it is called with, before both files.
        python: The interpreter to run it.
        name: What it stands for, if it fails.
        timeout: Seconds after which it is ended; None for never.
        environment: Variables it gets beside those of this process.

    Returns:
        What it wrote, as JSON.
    """
    path = pathlib.Path(__file__).parent / script
    inherited = {k: v for k, v in os.environ.items() if k not in _NOT_INHERITED}
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "question")
        answer = pathlib.Path(folder, "answer.json")
        source.write_bytes(question)
        process = subprocess.run(
            [python, path, *args, source, answer],
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**inherited, **environment},
        )
        if process.returncode:
            raise RuntimeError(
                f"{name} failed with status {process.returncode}:\n"
                f"{process.stderr[-2000:]}"
            )
        return json.loads(answer.read_text())
