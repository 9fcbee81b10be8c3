import json

import numpy as np
import pytest

from keras_attn.export.bundle.recorded_examples import PATH
from keras_attn.export.bundle.recorded_examples import read_examples
from keras_attn.export.bundle.recorded_examples import write_examples
from tests.export.saved_modules import Echo


@pytest.fixture
def folder(tmp_path):
    return Echo().save(tmp_path / "1")


X = np.array([[0.1, np.nan], [np.inf, 1e-9]], "float32")
TEXT = np.array([b"\xc3\xa9", b"\xff"], object)
LOUD = np.array([b"\xc3\x89", b"\xff"], object)
EXAMPLES = [
    ("scale", {"x": X}, {"scaled": 3 * X}),
    ("check", {"text": TEXT}, {"loud": LOUD}),
]


def test_examples_come_back_in_their_dtypes(folder):
    write_examples(folder, EXAMPLES)
    scaled, shouted = read_examples(folder)
    assert scaled[0] == "scale" and scaled[1]["x"].dtype == "float32"
    np.testing.assert_array_equal(scaled[1]["x"], X)
    np.testing.assert_array_equal(scaled[2]["scaled"], 3 * X)
    assert shouted[1]["text"].tolist() == TEXT.tolist()
    assert shouted[2]["loud"].tolist() == LOUD.tolist()


def test_the_file_is_columns_that_a_client_can_send(folder):
    path = write_examples(folder, EXAMPLES)
    records = json.loads(path.read_text(encoding="utf-8"))
    assert records[1] == {
        "signature": "check",
        "inputs": {"text": ["é", {"b64": "/w=="}]},
        "outputs": {"loud": ["É", {"b64": "/w=="}]},
    }
    assert "é" in path.read_text(encoding="utf-8")


def test_an_empty_batch_keeps_its_axes(folder):
    empty = X[:0]
    write_examples(folder, [("scale", {"x": empty}, {"scaled": empty})])
    ((_, inputs, outputs),) = read_examples(folder)
    assert inputs["x"].shape == outputs["scaled"].shape == (0, 2)


def test_a_model_without_examples_says_so(folder):
    with pytest.raises(
        FileNotFoundError, match=r"no recorded .*examples\.json"
    ):
        read_examples(folder)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[", "JSONDecodeError"),
        ("[1]", "TypeError"),
        ('[{"signature": "other"}]', "inputs|other"),
        (
            '[{"signature": "scale", "inputs": {"y": 1}, "outputs": {}}]',
            r"found \['y'\], not \['x'\]",
        ),
        (
            '[{"signature": "scale", "inputs": {"x": [["a"]]}, "outputs": {}}]',
            "not of dtype float32",
        ),
    ],
)
def test_examples_of_another_model_are_refused(folder, text, complaint):
    path = write_examples(folder, [])
    assert path == folder / PATH
    path.write_text(text)
    with pytest.raises(
        ValueError, match=rf"examples\.json does not .*{complaint}"
    ):
        read_examples(folder)
