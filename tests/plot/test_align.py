import runpy
import sys

import numpy as np
import pytest
import tensorflow as tf
from matplotlib.figure import Figure
from matplotlib.text import Text

from keras_attn import plot
from keras_attn.plot import align

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


# Of two texts, the second of which was not valid.
ANSWER = {
    "text": ["x y", ""],
    "source_tokens": [["a", "b", "c", ""], [""] * 4],
    "source_lengths": [3, 1],
    "answer_tokens": [["x", "y", "", "", ""], [""] * 5],
    "answer_lengths": [2, 0],
    "weights": np.stack([np.pad(WEIGHTS, [(0, 3), (0, 1)]), np.zeros((5, 4))]),
}


@pytest.mark.parametrize(
    "form",
    [lambda array: array, np.array, lambda array: np.array(array).tolist()],
    ids=["mixed", "arrays", "json"],
)
def test_an_answer_is_drawn_without_its_padding(form):
    answer = {name: form(rows) for name, rows in ANSWER.items()}
    figure = plot.alignment(answer)
    np.testing.assert_array_equal(drawn(figure), WEIGHTS)
    assert labels(figure.axes[0].xaxis) == ["a", "b", "c"]
    assert labels(figure.axes[0].yaxis) == ["x", "y"]


@pytest.mark.parametrize(
    ("arguments", "options", "complaint"),
    [
        ((ANSWER,), {"row": 1}, "row 1 was not valid"),
        ((ANSWER,), {"row": 2}, r"one of the answer's 2, .*row=2"),
        ((ANSWER, "abc", "xy"), {}, "leave `source` and `target` out"),
        (({"weights": WEIGHTS},), {}, "without: source_tokens, source_len"),
        ((WEIGHTS,), {}, "`source` and `target` are needed"),
    ],
)
def test_an_answer_that_cannot_be_drawn_says_why(arguments, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        plot.alignment(*arguments, **options)


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


def texts_of(figure):
    """Every text that is drawn."""
    figure.draw_without_rendering()
    return [
        text
        for text in figure.findobj(Text)
        if text.get_text() and text.get_visible()
    ]


@pytest.mark.parametrize(
    ("rows", "columns", "label"),
    [
        (1, 1, "word" * 9),
        (2, 1, "a"),
        (12, 24, "word" * 9),
        (48, 12, "a"),
        (120, 9, "word"),
    ],
)
def test_every_text_stays_inside_the_picture(rows, columns, label):
    figure = plot.alignment(
        np.ones((rows, columns)), [label] * columns, [label] * rows
    )
    texts = texts_of(figure)
    named = {"source", "target", "weight"}
    assert named < {text.get_text() for text in texts}
    assert len(texts) > len(named) + rows + columns
    for text in texts:
        box = text.get_window_extent()
        assert 0 <= box.x0 and box.x1 <= figure.bbox.x1
        assert 0 <= box.y0 and box.y1 <= figure.bbox.y1


@pytest.mark.parametrize("shape", [(1, 1), (48, 7), (3, 30)], ids=str)
def test_cells_are_square_and_have_room_for_their_labels(shape):
    rows, columns = shape
    figure = plot.alignment(np.ones(shape), "a" * columns, "b" * rows)
    table = figure.axes[0].get_window_extent()
    assert table.width / columns == pytest.approx(table.height / rows)
    # As high as a line of text, and a half.
    assert table.height / rows > 1.5 * 10 * figure.dpi / 72


def test_the_scale_stays_beside_the_top_of_a_long_table():
    for rows in (1, 6, 120):
        table, scale = (
            axes.get_window_extent()
            for axes in plot.alignment(
                np.ones((rows, 2)), "ab", "c" * rows
            ).axes
        )
        assert table.x1 < scale.x0 and table.y1 == pytest.approx(scale.y1)
        tokens = scale.height / table.height * rows
        assert tokens == pytest.approx(min(max(rows, 4), 12))


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


def test_without_matplotlib_it_says_what_is_missing(monkeypatch):
    for name in [*sys.modules]:
        if name.split(".")[0] == "matplotlib":
            monkeypatch.setitem(sys.modules, name, None)
    # No other module may import it: see tests/test_architecture.py.
    names = runpy.run_path(align.__file__)
    with pytest.raises(ImportError, match=r'pip install "keras_attn\[plot\]"'):
        names["alignment"]([[1.0]], "a", "b")
