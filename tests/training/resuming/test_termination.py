import os
import signal
import threading

import pytest

from keras_attn.training.resuming.termination import Termination


def test_a_signal_is_noted_and_nothing_else_happens():
    before = signal.getsignal(signal.SIGTERM)
    with Termination() as termination:
        assert not termination.requested
        os.kill(os.getpid(), signal.SIGTERM)
        assert termination.requested
    assert signal.getsignal(signal.SIGTERM) == before


def test_the_end_names_the_checkpoint(capsys):
    with Termination() as termination, pytest.raises(SystemExit) as ended:
        termination.end("run/step-1.state")
    assert ended.value.code == 143
    assert "continue from run/step-1.state" in capsys.readouterr().err


def test_another_thread_notes_nothing():
    before, seen = signal.getsignal(signal.SIGTERM), []

    def run():
        with Termination() as termination:
            seen.append((signal.getsignal(signal.SIGTERM), termination))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen[0][0] == before
    assert not seen[0][1].requested
