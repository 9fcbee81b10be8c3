"""Real signals to real processes, which are started again."""

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
KILLS = 10


def start(folder, *fault):
    """Run the program to its end, whatever that is."""
    return subprocess.run(
        [sys.executable, "-m", killed_program.__name__, folder, *fault],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What a run prints that nobody kills."""
    done = start(tmp_path_factory.mktemp("whole"))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_ten_kills_change_nothing(whole, tmp_path):
    rng = random.Random(5)
    kinds = ["step"] * 6 + ["write"] * 2 + ["rename"] * 2
    rng.shuffle(kinds)
    for kind in kinds:
        # At least one more checkpoint is there, or none: both must do.
        most = 9 if kind == "step" else 3
        done = start(tmp_path, kind, str(rng.randint(1, most)))
        assert done.returncode == -signal.SIGKILL, done.stderr
    reached = sorted(tmp_path.glob("step-*.state"))[-1].name
    total = killed_program.EPOCHS * killed_program.BATCHES
    assert "step-00000012" < reached < f"step-{total:08d}"
    done = start(tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == whole


def test_sigterm_saves_and_ends(whole, tmp_path):
    done = start(tmp_path, "terminate", "2")
    assert done.returncode == 143
    assert "continue from" in done.stderr
    assert "Traceback" not in done.stderr
    # Before the first regular one.
    assert (tmp_path / "step-00000002.state").exists()
    assert start(tmp_path).stdout == whole


def test_a_full_disk_leaves_the_last_checkpoint(whole, tmp_path):
    done = start(tmp_path, "step", "8")
    (before,) = [p.read_bytes() for p in tmp_path.glob("step-*6.state")]
    done = start(tmp_path, "full", "2000")
    assert done.returncode == 0, done.stderr
    assert "could not be written" in done.stderr
    assert "File too large" in done.stderr
    assert "continue from" in done.stderr
    assert done.stdout == whole, "training goes on"
    (after,) = [p.read_bytes() for p in tmp_path.glob("step-*6.state")]
    assert after == before
    assert not list(tmp_path.glob("*.part"))
    assert start(tmp_path).stdout == whole


def test_a_second_run_in_the_folder_is_refused(tmp_path):
    command = [sys.executable, "-m", killed_program.__name__, tmp_path]
    with subprocess.Popen([*command, "stop", "4"], cwd=ROOT) as first:
        try:
            while not list(tmp_path.glob("step-*.state")):
                assert first.poll() is None
                time.sleep(0.1)
            done = start(tmp_path)
            assert done.returncode == 1
            assert f"process {first.pid}" in done.stderr
        finally:
            first.kill()
