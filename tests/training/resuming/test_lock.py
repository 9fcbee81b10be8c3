import os
import subprocess
import sys

import pytest

from keras_attn.training.resuming.lock import only_run

HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_run_is_told_who_holds_the_folder(tmp_path):
    with (
        only_run(tmp_path),
        pytest.raises(RuntimeError, match=f"process {os.getpid()} on .*folder"),
        only_run(tmp_path),
    ):
        pass
    with only_run(tmp_path):
        pass


def test_a_killed_process_holds_nothing(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path / "lock"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(RuntimeError, match="Another run"):
            with only_run(tmp_path):
                pass
        holder.kill()
        holder.wait()
        with only_run(tmp_path):
            pass
