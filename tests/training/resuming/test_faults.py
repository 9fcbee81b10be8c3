"""Real signals to real processes, which are started again."""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.training.resuming import killed_program

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).parents[3]


@pytest.fixture(scope="module")
def start():
    """A function that runs the program: exit code, output, errors."""
    with subprocess.Popen(
        [sys.executable, "-m", killed_program.__name__],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:

        def start(folder, *fault):
            program.stdin.write(json.dumps([str(folder), *fault]) + "\n")
            program.stdin.flush()
            return json.loads(program.stdout.readline())

        yield start
        program.stdin.close()


@pytest.fixture(scope="module")
def whole(start, tmp_path_factory):
    """What a run prints that nobody kills."""
    code, printed, errors = start(tmp_path_factory.mktemp("whole"))
    assert code == 0, errors
    return printed


def test_ten_kills_change_nothing(start, whole, tmp_path):
    rng = random.Random(5)
    kinds = ["step"] * 6 + ["write"] * 2 + ["rename"] * 2
    rng.shuffle(kinds)
    for kind in kinds:
        most = 9 if kind == "step" else 3
        code, _, errors = start(tmp_path, kind, rng.randint(1, most))
        assert code == -signal.SIGKILL, errors
    reached = sorted(tmp_path.glob("step-*.state"))[-1].name
    total = killed_program.EPOCHS * killed_program.BATCHES
    assert "step-00000012" < reached < f"step-{total:08d}"
    code, printed, errors = start(tmp_path)
    assert code == 0, errors
    assert printed == whole


def test_sigterm_saves_and_ends(start, whole, tmp_path):
    code, _, errors = start(tmp_path, "terminate", 2)
    assert code == 128 + signal.SIGTERM
    assert "continue from" in errors
    assert "Traceback" not in errors
    # Before the first regular one.
    assert (tmp_path / "step-00000002.state").exists()
    assert start(tmp_path)[1] == whole


def test_a_full_disk_leaves_the_last_checkpoint(start, whole, tmp_path):
    start(tmp_path, "step", 8)
    last = tmp_path / "step-00000006.state"
    before = last.read_bytes()
    code, printed, errors = start(tmp_path, "full", 2000)
    assert code == 0, errors
    assert "could not be written" in errors
    assert "File too large" in errors
    assert f"would continue from {last}" in errors
    assert printed == whole, "training goes on"
    assert last.read_bytes() == before
    assert not list(tmp_path.glob("*.part"))
    assert start(tmp_path)[1] == whole


def test_a_second_run_in_the_folder_is_refused(start, tmp_path):
    first = start(tmp_path, "stop", 4)
    try:
        lock, end = tmp_path / "lock", time.monotonic() + 60
        while not (lock.exists() and lock.read_text()):
            assert time.monotonic() < end, "it did not begin"
            time.sleep(0.1)
        code, _, errors = start(tmp_path)
        assert code == 1
        assert f"Another run (process {first}" in errors
    finally:
        os.kill(first, signal.SIGKILL)
