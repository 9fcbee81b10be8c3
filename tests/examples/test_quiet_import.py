import os
import pathlib
import subprocess
import sys

import pytest

from examples import quiet_import

ROOT = pathlib.Path(__file__).parents[2]
NOTES = (
    b"WARNING: All log messages before absl::InitializeLog() is called are "
    b"written to STDERR\n"
    b"I0000 00:00:1794865485.697870   24906 cudart_stub.cc:31] Could not find "
    b"cuda drivers on your machine, GPU will not be used.\n"
    b"I0000 00:00:1794865485.697870   24906 port.cc:153] oneDNN custom "
    b"operations are on. You may see slightly different numerical results.\n"
)
ERRORS = (
    b"E0000 00:00:1794865485.697870   24906 some.cc:31] It is broken\n"
    b"I0000 00:00:1794865485.697870   24906 some.cc:31] Another note\n"
    b"ImportError: Could not find cuda drivers on your machine"
)


@pytest.mark.slow
def test_the_demo_begins_without_tensorflows_notes():
    command = [sys.executable, "-m", "examples.serve_translator", "--help"]
    # As the Makefile has it; with oneDNN, which some CPUs do not have on.
    environment = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": "1",
    }
    answer = subprocess.run(
        command, capture_output=True, cwd=ROOT, env=environment, timeout=300
    )
    assert answer.returncode == 0
    assert answer.stdout.startswith(b"usage: ")
    assert answer.stderr == b""


def test_all_but_the_notes_comes_through(capfdbinary):
    with quiet_import.without_notes():
        os.write(2, NOTES + ERRORS)
    os.write(2, b"\nafter")
    assert capfdbinary.readouterr().err == ERRORS + b"\nafter"


def test_an_error_comes_through_and_ends_the_filter(capfdbinary):
    with pytest.raises(ImportError), quiet_import.without_notes():
        os.write(2, NOTES)
        raise ImportError
    os.write(2, NOTES)
    assert capfdbinary.readouterr().err == NOTES


def test_what_is_written_before_a_crash_comes_through():
    script = (
        "import os, runpy\n"
        f"quiet = runpy.run_path({quiet_import.__file__!r})\n"
        "with quiet['without_notes']():\n"
        f"    os.write(2, {NOTES + ERRORS!r})\n"
        "    os.abort()\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, timeout=60
    )
    assert answer.returncode < 0
    assert answer.stderr == ERRORS
