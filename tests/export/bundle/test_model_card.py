import json
import re
import shlex

import numpy as np
import pytest

from keras_attn.export.bundle.model_card import write_model_card
from keras_attn.export.bundle.recorded_examples import write_examples
from tests.export.saved_modules import Echo

TEXT = np.array(["it's | é".encode(), b"\xff"], object)
METADATA = {
    "description": "Shouts.\nIn capitals.",
    "data": ["books", "news | letters"],
    "scores": {"BLEU": 31.5, "speed": "12 lines\na second"},
}


@pytest.fixture
def folder(tmp_path):
    return Echo().save(tmp_path / "1", echo=False)


def card(folder, metadata=None):
    return write_model_card(folder, "shouter", metadata).read_text("utf-8")


def test_it_tells_what_its_maker_knows(folder):
    text = card(folder, METADATA)
    assert text.startswith("# shouter\n\nShouts.\nIn capitals.\n\n## Data\n\n")
    assert "- books\n- news \\| letters" in text
    assert "## Scores\n\n|  |  |\n|---|---|\n| BLEU | 31.5 |" in text
    assert "| speed | 12 lines a second |" in text


def test_it_lists_signatures_sizes_and_versions(folder):
    text = card(folder)
    assert (
        "| `scale` | `x` float32 (any, 2) | `scaled` float32 (any, 2) |" in text
    )
    assert "| `check` | `text` string (any,) | `loud` string (any,) |" in text
    assert re.search(r"\| weights \| \d[\d,]+ bytes \|", text)
    assert re.search(r"\| tensorflow \| 2\.\d+", text)
    assert "## Example" not in text
    assert (folder / "assets.extra" / "README.md").is_file()


def test_its_request_can_be_pasted_into_a_shell(folder):
    write_examples(folder, [("check", {"text": TEXT}, {"loud": TEXT})])
    text = card(folder)
    command = re.search(r"```sh\n(.*?)\n```", text, re.DOTALL)[1]
    words = shlex.split(command.replace("\\\n", " "))
    program, url, flag, body = words
    assert (program, flag) == ("curl", "-d")
    assert url == "http://localhost:8501/v1/models/shouter:predict"
    assert json.loads(body) == {
        "signature_name": "check",
        "inputs": {"text": ["it's | é", {"b64": "/w=="}]},
    }
    answer = re.search(r"```json\n(.*?)\n```", text, re.DOTALL)[1]
    assert json.loads(answer) == {"outputs": ["it's | é", {"b64": "/w=="}]}


def test_long_values_are_shortened_and_it_says_so(folder):
    long = np.array([b"a" * 900] + [b"b"] * 20, object)
    write_examples(folder, [("check", {"text": long}, {"loud": long})])
    text = card(folder)
    assert "Values are shortened" in text
    assert "a" * 200 + "..." in text and "a" * 201 not in text
    assert max(map(len, text.splitlines())) < 400
