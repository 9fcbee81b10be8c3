import shutil

import numpy as np
import pytest

from keras_attn.export.bundle.recorded_examples import PATH
from keras_attn.export.bundle.recorded_examples import write_examples
from keras_attn.export.verify.verification import verify
from tests.export.saved_modules import Echo

X = np.array([[1.0, 2.0], [np.nan, 4.0]], "float32")
TEXT = np.array([b"abc", b"\xff"], object)
LOUD = np.array([b"ABC", b"\xff"], object)
EXAMPLES = [
    ("scale", {"x": X}, {"scaled": 3 * X}),
    ("scale", {"x": X[:1]}, {"scaled": 3 * X[:1] + 1e-6}),
    ("check", {"text": TEXT}, {"loud": LOUD}),
    ("forget", {"text": TEXT}, {"words": np.array([3, 1], "int32")}),
    # As XLA is off, it would be refused.
    ("compiled_xla", {"x": X}, {"doubled": 2 * X}),
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return Echo().save(tmp_path_factory.mktemp("echo"), xla=True, echo=False)


@pytest.fixture
def folder(saved, tmp_path):
    copy = shutil.copytree(saved, tmp_path / "translator" / "7")
    write_examples(copy, EXAMPLES)
    return copy


def test_a_model_that_answers_as_recorded_passes(folder, capsys):
    report = verify(folder.parent)
    table = capsys.readouterr().out.splitlines()
    assert table[0].split() == [
        *("signature", "requests", "worst", "difference", "milliseconds")
    ]
    assert [line.split()[:2] for line in table[2:]] == [
        ["check", "1"],
        ["forget", "1"],
        ["scale", "2"],
    ]
    assert 0 < report["scale"]["difference"] < 1e-5
    assert report["check"]["difference"] == 0
    assert report["scale"]["seconds"] > 0


def test_every_difference_is_told_after_the_table(folder, capsys):
    long = np.array([b"far too long"], object)
    write_examples(
        folder,
        [
            ("scale", {"x": X}, {"scaled": 3 * X + 1e-3}),
            ("scale", {"x": X[:1]}, {"scaled": 3 * X}),
            ("check", {"text": TEXT}, {"loud": TEXT}),
            ("check", {"text": long}, {"loud": long}),
            ("forget", {"text": TEXT}, {"words": np.array([3, 2], "int32")}),
        ],
    )
    with pytest.raises(ValueError, match=r"7 does not .* 5 faults") as e:
        verify(folder)
    assert "scale             2               inf" in capsys.readouterr().out
    _, *faults = str(e.value).split("\n  request ")
    assert faults[0].startswith("1 of 'scale': output 'scaled' is [[3.0, 6.0]")
    assert "(1, 2), not [[3.0, 6.0], [nan, 12.0]] (2, 2)" in faults[1]
    assert "[b'ABC', b'\\xff'] (2,), not [b'abc', b'\\xff']" in faults[2]
    assert faults[3].startswith("2 of 'check': ") and "too long" in faults[3]
    assert faults[4] == "1 of 'forget': output 'words' is [3, 1] (2,), " + (
        "not [3, 2] (2,)"
    )


def test_a_signature_without_examples_is_not_proven(folder, capsys):
    write_examples(folder, EXAMPLES[:3])
    with pytest.raises(ValueError, match="'forget' has no recorded example"):
        verify(folder, verbose=False)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("missing", "complaint"),
    [
        ("saved_model.pb", "neither a SavedModel nor"),
        ("variables", "no variables/variables.index"),
        (str(PATH), "no recorded examples"),
    ],
)
def test_a_missing_part_is_named(folder, tmp_path, missing, complaint):
    (folder / missing).rename(tmp_path / "away")
    with pytest.raises(FileNotFoundError, match=complaint):
        verify(folder)


def test_weights_cut_short_are_told_by_tensorflow(folder):
    (data,) = (folder / "variables").glob("variables.data-*")
    data.write_bytes(data.read_bytes()[:2])
    with pytest.raises(RuntimeError, match="7 cannot be loaded: Read less"):
        verify(folder)
