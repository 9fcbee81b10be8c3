import subprocess
import sys

import pytest

from keras_attn.training.accelerator import own_process


def ask(*args, script, timeout=60, **environment):
    """Let a script answer that this test wrote."""
    return own_process.ask(
        script,
        b"4",
        *args,
        python=sys.executable,
        name="The thing",
        timeout=timeout,
        **environment,
    )


def write(folder, *lines):
    path = folder / "script.py"
    start = ["import json, os, pathlib, sys, time"]
    path.write_text("\n".join([*start, *lines]))
    # An absolute path stands for itself, beside whatever module.
    return str(path)


def test_the_answer_is_what_the_script_wrote(tmp_path, monkeypatch):
    monkeypatch.setenv("TPU_LIBRARY_PATH", "elsewhere")
    monkeypatch.setenv("KEPT", "here")
    script = write(
        tmp_path,
        "number, source, answer = sys.argv[1:]",
        "read = pathlib.Path(source).read_text()",
        "names = ('TPU_LIBRARY_PATH', 'KEPT', 'MORE')",
        "found = [read, number, *map(os.environ.get, names)]",
        "pathlib.Path(answer).write_text(json.dumps(found))",
    )
    assert ask("7", script=script, MORE="2") == ["4", "7", None, "here", "2"]


def test_a_failure_says_whose_it_is(tmp_path):
    script = write(tmp_path, "sys.exit('no such chip')")
    with pytest.raises(
        RuntimeError, match=r"The thing failed with status 1:\nno such chip"
    ):
        ask(script=script)


def test_it_is_ended_after_the_timeout(tmp_path):
    script = write(tmp_path, "time.sleep(60)")
    with pytest.raises(subprocess.TimeoutExpired):
        ask(script=script, timeout=0.5)
