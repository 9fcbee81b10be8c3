import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from matplotlib.figure import Figure

from keras_attn import plot

WEIGHTS = np.array([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5]])  # (target, source)


def drawn(figure):
    """The numbers in the picture's cells."""
    return figure.axes[0].images[0].get_array()


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_rows_are_targets_and_columns_are_sources(tmp_path):
    figure = plot.alignment(WEIGHTS, ["a", "b", "c"], ["x", "y"])
    assert isinstance(figure, Figure)
    np.testing.assert_array_equal(drawn(figure), WEIGHTS)
    assert labels(figure.axes[0].xaxis) == ["a", "b", "c"]
    assert labels(figure.axes[0].yaxis) == ["x", "y"]
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_heads_are_averaged():
    heads = np.stack([WEIGHTS, np.zeros_like(WEIGHTS)])
    figure = plot.alignment(heads, "abc", "xy")
    np.testing.assert_allclose(drawn(figure), WEIGHTS / 2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_tensors_of_any_precision_are_drawn(dtype):
    figure = plot.alignment(tf.cast(WEIGHTS, dtype), "abc", "xy")
    np.testing.assert_allclose(drawn(figure), WEIGHTS, atol=1e-2)


@pytest.mark.parametrize(
    ("token", "label"),
    [
        ("$x", "$x"),
        (r"$\frac$", r"$\frac$"),
        ("\n", r"\n"),
        (" ", "␣"),
        ("a\tb", r"a\tb"),
        (b"caf\xc3\xa9", "café"),
        (b"\xff", "\N{REPLACEMENT CHARACTER}"),
        (7, "7"),
        ("x" * 24, "x" * 24),
        ("x" * 25, "x" * 23 + "…"),
        ("ελληνικά", "ελληνικά"),
    ],
    ids=str,
)
def test_any_token_becomes_a_label_that_can_be_drawn(token, label, tmp_path):
    figure = plot.alignment(WEIGHTS, [token, "b", "c"], [token, "y"])
    figure.savefig(tmp_path / "picture.png")
    assert labels(figure.axes[0].xaxis)[0] == label
    assert labels(figure.axes[0].yaxis)[0] == label


# Which scripts the machine has fonts for decides whether matplotlib warns.
@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.filterwarnings("ignore:Matplotlib currently does not support")
def test_scripts_without_a_font_do_not_stop_the_drawing(tmp_path):
    figure = plot.alignment(
        WEIGHTS, ["日本語", "नमस्ते", "مرحبا"], ["한국어", "🙂"]
    )
    figure.savefig(tmp_path / "picture.png")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (["a"], ["y"]),
        (["word" * 6] * 40, ["word" * 6] * 30),
        (["a"] * 2, ["word" * 9] * 50),
    ],
    ids=["one_cell", "long_words", "narrow"],
)
def test_labels_stay_inside_the_picture(source, target):
    weights = np.ones((len(target), len(source)))
    figure = plot.alignment(weights, source, target)
    figure.draw_without_rendering()
    inside = figure.bbox
    for axis in (figure.axes[0].xaxis, figure.axes[0].yaxis):
        for text in (axis.label, *axis.get_ticklabels()):
            box = text.get_window_extent()
            # A pixel's overhang is the antialiasing's, not ours.
            assert inside.x0 - 1 <= box.x0 and box.x1 <= inside.x1 + 1
            assert inside.y0 - 1 <= box.y0 and box.y1 <= inside.y1 + 1


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), "Of a batch, pick one example"),
        (np.ones((1, 1, 2, 3)), "Of a batch, pick one example"),
        (WEIGHTS.T, r"len\(target\)=2, len\(source\)=3"),
        (np.ones((2, 4)), "Cut padding off"),
        (np.zeros((0, 2, 3)), "a row for each label"),
        (WEIGHTS - 0.5, "not negative"),
        (WEIGHTS * np.nan, "must be finite"),
    ],
    ids=["flat", "batch", "swapped", "padded", "headless", "scores", "nan"],
)
def test_what_cannot_be_drawn_is_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        plot.alignment(weights, "abc", "xy")


def test_the_package_imports_without_matplotlib_and_says_what_is_missing():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import keras_attn\n"
        "try:\n"
        "    keras_attn.plot.alignment([[1.0]], 'a', 'b')\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert 'pip install "keras_attn[plot]"' in answer.stdout
