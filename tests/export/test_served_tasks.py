"""Exported models, served and asked as their users will."""

import base64
import json
import pathlib
import re
import subprocess
import sys
import textwrap

import keras
import numpy as np
import pytest

from keras_attn.export.exporting import export_model
from keras_attn.export.server.loopback_server import serve
from keras_attn.models import Transformer
from tests.export import captioners
from tests.export import echo
from tests.export import writers
from tests.export.image_files import BAD
from tests.export.image_files import GOOD

FOLDER = pathlib.Path(__file__).parents[2] / "export"


def classifier():
    image = keras.Input((6, 4, 3), name="image")
    x = keras.layers.Conv2D(5, 2, strides=2)(image)
    x = keras.layers.GlobalAveragePooling2D()(x)
    return keras.Model(image, keras.layers.Dense(2)(x))


def translator(folder):
    keras.utils.set_random_seed(0)
    export_model(
        writers.transformer(),
        folder,
        tokenizer={"source": writers.SOURCE, "target": writers.TARGET},
        max_length=6,
        verify=False,
    )


def image_classifier(folder):
    keras.utils.set_random_seed(0)
    labels = ["cat", "dog"]
    export_model(classifier(), folder, labels=labels, verify=False)


def captioner(folder):
    export_model(
        captioners.captioner(),
        folder,
        tokenizer=writers.TARGET,
        max_length=6,
        forbidden_ids=captioners.SPECIAL,
        verify=False,
    )


EXPORTS = {
    "translator": translator,
    "classifier": image_classifier,
    "captioner": captioner,
}


@pytest.fixture(scope="module")
def server(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / request.param
    EXPORTS[request.param](folder)
    with serve(folder, grpc_port=0, rest_port=0) as server:
        server.folder = folder
        yield server


# They take ten seconds to write.
TRANSLATOR = pytest.param("translator", marks=pytest.mark.slow)
CAPTIONER = pytest.param("captioner", marks=pytest.mark.slow)


def served(*names):
    """Run a test with servers of these models."""
    return pytest.mark.parametrize("server", names, indirect=True)


def run(script, server, *arguments):
    """Run a script of the operators' folder, which must succeed."""
    at = ["--server", f"http://127.0.0.1:{server.rest_port}"]
    answer = subprocess.run(
        [sys.executable, str(FOLDER / script), *at, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


def ask(server, inputs, signature="serving_default"):
    status, answer = echo.http(
        server.rest_port,
        f"/v1/models/{server.model_name}:predict",
        {"inputs": inputs, "signature_name": signature},
    )
    assert status == 200, answer
    return answer["outputs"]


@served("classifier", CAPTIONER, TRANSLATOR)
def test_a_server_answers_as_the_export_recorded(server):
    table = run("smoke_test.py", server, str(server.folder))
    assert "serving_default" in table


@served("classifier", CAPTIONER)
def test_a_damaged_image_does_not_fail_its_batch(server):
    files = [BAD["half_a_jpeg"], GOOD["jpeg"], BAD["nothing"]]
    column = [{"b64": base64.b64encode(file).decode()} for file in files]
    answer = ask(server, {"image_bytes": column})
    assert answer["valid"] == [False, True, False]
    written = answer["label" if server.model_name == "classifier" else "text"]
    assert written[1] and not written[0] and not written[2]


@served(TRANSLATOR)
def test_a_bad_text_does_not_fail_its_batch(server):
    no_utf8 = {"b64": base64.b64encode(b"\xff\xfe").decode()}
    alone = ask(server, ["a b"])
    together = ask(server, ["", no_utf8, "a " * 2**19, "a b"])
    assert alone["valid"] == [True]
    assert together["valid"] == [False, False, True, True]
    assert together["truncated"] == [False, False, True, False]
    for name, (value,) in alone.items():
        assert together[name][3] == pytest.approx(value)


@pytest.mark.slow
def test_the_commands_of_the_readme_lead_to_an_answer(tmp_path, monkeypatch):
    readme = (FOLDER / "README.md").read_text()
    (code,) = re.findall(r"python -c '\n(.*?)'", readme, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    pathlib.Path("checkpoints").mkdir()
    tokenizer = writers.SOURCE
    tokenizer.save("checkpoints/tokenizer")
    size = {"vocabulary_size": tokenizer.vocabulary_size}
    model = Transformer(**size, num_layers=1, num_heads=2, units=8)
    model({"source": np.ones([1, 2]), "target": np.ones([1, 2])})
    model.save("checkpoints/translator.keras")
    exec(textwrap.dedent(code), {})
    (smoke_test,) = re.findall(r"python export/smoke_test.py (\S+)", readme)
    with serve(smoke_test, grpc_port=0, rest_port=0) as server:
        run("smoke_test.py", server, smoke_test)
        answer = run("client.py", server, "--model", "translator", "a b")
    assert json.loads(answer)["valid"] == [True]
