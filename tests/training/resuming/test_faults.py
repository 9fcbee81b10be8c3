"""Real signals to real processes, which are started again."""

import os
import random
import signal
import time

import pytest

from tests.training.resuming import forking
from tests.training.resuming import killed_program
from tests.training.resuming import two_workers

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def start():
    """A function that runs the program: exit code, output, errors, seconds."""
    with forking.Program(killed_program) as program:
        yield program


@pytest.fixture(scope="module")
def whole(start, tmp_path_factory):
    """What a run prints that nobody kills."""
    code, printed, errors, _ = start(tmp_path_factory.mktemp("whole"))
    assert code == 0, errors
    return printed


def test_ten_kills_change_nothing(start, whole, tmp_path):
    rng = random.Random(5)
    kinds = ["step"] * 6 + ["write"] * 2 + ["rename"] * 2
    rng.shuffle(kinds)
    for kind in kinds:
        most = 9 if kind == "step" else 3
        code, _, errors, _ = start(tmp_path, kind, rng.randint(1, most))
        assert code == -signal.SIGKILL, errors
    reached = sorted(tmp_path.glob("step-*.state"))[-1].name
    total = killed_program.EPOCHS * killed_program.BATCHES
    assert "step-00000012" < reached < f"step-{total:08d}"
    code, printed, errors, _ = start(tmp_path)
    assert code == 0, errors
    assert printed == whole


def test_sigterm_saves_and_ends(start, whole, tmp_path):
    code, _, errors, _ = start(tmp_path, "terminate", 2)
    assert code == 128 + signal.SIGTERM
    assert "continue from" in errors
    assert "Traceback" not in errors
    # Before the first regular one.
    assert (tmp_path / "step-00000002.state").exists()
    assert start(tmp_path)[1] == whole


def test_a_full_disk_leaves_the_last_checkpoint(start, whole, tmp_path):
    start(tmp_path, "rename", 2)
    last = tmp_path / "step-00000006.state"
    before = last.read_bytes()
    code, printed, errors, _ = start(tmp_path, "full", 2000)
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
        code, _, errors, _ = start(tmp_path)
        assert code == 1
        assert f"Another run (process {first}" in errors
    finally:
        os.kill(first, signal.SIGKILL)


@pytest.fixture(scope="module")
def train_together():
    """A function that runs two workers to their ends."""
    with forking.Program(two_workers) as program:
        yield program


def test_workers_that_are_lost_change_nothing(train_together, tmp_path):
    def printed(ends):
        for code, _, errors, _ in ends:
            assert code == 0, errors
        return [end[1] for end in ends]

    whole = printed(train_together(tmp_path / "whole"))
    folder = tmp_path / "cut"
    # After steps 2, 4, 5 (an epoch) and 6 something is saved.
    chief, other = train_together(folder, "SIGKILL", 1, 7)
    assert other[0] == -signal.SIGKILL
    code, _, errors, seconds = chief
    assert code == 1
    assert "Another worker was lost" in errors
    assert f"continue from {folder / 'step-00000006.state'}" in errors
    assert seconds < 30
    # A signal to one is obeyed by both, at the next save.
    for code, _, errors, _ in train_together(folder, "SIGTERM", 1, 1):
        assert code == 128 + signal.SIGTERM, errors
    chief, (code, _, errors, seconds) = train_together(folder, "SIGKILL", 0, 3)
    assert chief[0] == -signal.SIGKILL
    assert code == 1
    assert "Another worker was lost" in errors
    assert seconds < 30
    # Worker 1 looks for them elsewhere.
    folder.rename(tmp_path / "cut0")
    for code, _, errors, _ in train_together(tmp_path / "cutINDEX"):
        assert code == 1
        assert "do not find the same checkpoints" in errors
    (tmp_path / "cut0").rename(folder)
    assert printed(train_together(folder)) == whole


def test_two_devices_are_continued(train_together, tmp_path):
    whole = train_together(tmp_path / "whole", None, "both")
    assert whole[0][0] == 0, whole[0][2]
    for steps in (4, 3):
        (end,) = train_together(tmp_path / "cut", "SIGKILL", "both", steps)
        assert end[0] == -signal.SIGKILL
    (end,) = train_together(tmp_path / "cut", None, "both")
    assert end[1] == whole[0][1]
