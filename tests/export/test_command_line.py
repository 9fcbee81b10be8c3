import json
import os
import signal
import threading
import time
import urllib.request

import numpy as np
import pytest

from keras_attn.export.bundle.recorded_examples import write_examples
from keras_attn.export.command_line import main
from keras_attn.export.server import loopback_server
from tests.export.saved_modules import Echo

TEXT = np.array([b"abc"], object)
LOUD = np.array([b"ABC"], object)
X = np.ones((1, 2), "float32")
EXAMPLES = [
    ("scale", {"x": X}, {"scaled": 3 * X}),
    ("check", {"text": TEXT}, {"loud": LOUD}),
    ("forget", {"text": TEXT}, {"words": np.array([3], "int32")}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "shouter"
    Echo().save(folder / "7", echo=False)
    return folder


def test_verify_ends_well_if_the_answers_are_as_recorded(folder, capsys):
    write_examples(folder / "7", EXAMPLES)
    assert main(["verify", str(folder)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("signature")
    assert out[-1] == f"{folder}: every answer is as recorded."


def test_verify_ends_badly_if_an_answer_differs(folder, capsys):
    write_examples(
        folder / "7", [*EXAMPLES, ("check", {"text": TEXT}, {"loud": TEXT})]
    )
    assert main(["verify", str(folder / "7")]) == 1
    out, error = capsys.readouterr()
    assert "every answer" not in out
    assert error.startswith("error: ") and "'loud' is [b'ABC']" in error


@pytest.mark.parametrize("command", ["verify", "inspect"])
def test_a_wrong_path_is_a_sentence(tmp_path, capsys, command):
    assert main([command, str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {tmp_path} is neither a SavedModel nor")


def test_inspect_prints_what_is_inside(folder, capsys):
    assert main(["inspect", str(folder)]) == 0
    assert "StringUpper" in capsys.readouterr().out


def test_serve_answers_until_it_is_stopped(folder, capsys, monkeypatch):
    servers, answers = [], []
    serve = loopback_server.serve

    def remember(*arguments, **options):
        servers.append(serve(*arguments, **options))
        return servers[0]

    def ask_and_stop():
        before = signal.getsignal(signal.SIGTERM)
        for _ in range(600):
            if signal.getsignal(signal.SIGTERM) is not before:
                break
            time.sleep(0.05)
        else:
            return
        try:
            url = f"http://127.0.0.1:{servers[0].rest_port}/v1/models/loud"
            body = {"signature_name": "check", "inputs": {"text": ["abc"]}}
            request = urllib.request.Request(
                f"{url}:predict", json.dumps(body).encode()
            )
            with urllib.request.urlopen(request, timeout=20) as response:
                answers.append(json.load(response))
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(loopback_server, "serve", remember)
    thread = threading.Thread(target=ask_and_stop)
    thread.start()
    # XLA would stay off for the tests that follow.
    options = ["--rest_port=0", "--grpc_port=0", "--allow_xla"]
    assert main(["serve", str(folder), "--model_name=loud", *options]) == 0
    thread.join()
    assert answers == [{"outputs": ["ABC"]}]
    address = f"http://127.0.0.1:{servers[0].rest_port} "
    assert address in capsys.readouterr().out


COMMANDS = ("huggingface", "verify", "inspect", "serve")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_tells_what_to_write(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert "usage: python -m keras_attn.export" in out
    if not command:
        assert all(name in out for name in COMMANDS)


def test_a_wrong_command_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["train"])
    assert ended.value.code == 2
    assert "'train'" in capsys.readouterr().err
