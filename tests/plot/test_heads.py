import sys

import numpy as np
import pytest
import tensorflow as tf
from matplotlib.figure import Figure

from keras_attn import plot
from keras_attn.layers import MultiHeadAttention

WEIGHTS = np.random.default_rng(0).uniform(size=(8, 2, 3))  # heads, query, key


def panels(figure):
    """The axes of the heads, without the scale."""
    return figure.axes[:-1]


def drawn(figure):
    return [axes.images[0].get_array() for axes in panels(figure)]


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_each_head_has_its_panel(tmp_path):
    figure = plot.heads(WEIGHTS)
    assert isinstance(figure, Figure)
    np.testing.assert_array_equal(drawn(figure), WEIGHTS)
    titles = [axes.get_title() for axes in panels(figure)]
    assert titles == [f"head {number}" for number in range(8)]
    for axes in panels(figure):
        (image,) = axes.images
        assert image.get_clim() == (0, WEIGHTS.max())
        assert not labels(axes.xaxis) and not labels(axes.yaxis)
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_weights_that_made_the_output_are_drawn(rng):
    x = rng.normal(size=(2, 5, 6)).astype("float32")
    layer = MultiHeadAttention(num_heads=3, key_dim=4)
    _, weights = layer(x, x, return_attention_scores=True)
    np.testing.assert_allclose(drawn(plot.heads(weights[1])), weights[1])


def test_labels_stand_at_the_left_and_where_nothing_is_below():
    figure = plot.heads(WEIGHTS, "abc", ["x", "two words"])
    for number, axes in enumerate(panels(figure)):
        # Six in the first row, two in the second.
        below = ["a", "b", "c"] if number >= 2 else []
        left = ["x", "two words"] if number in (0, 6) else []
        assert labels(axes.xaxis) == below
        assert labels(axes.yaxis) == left


@pytest.mark.parametrize(
    ("shape", "label"),
    [
        ((1, 1, 1), "word" * 5),
        ((8, 1, 40), "word"),
        ((7, 40, 2), "$x^"),
        ((13, 12, 12), "word"),
    ],
    ids=str,
)
def test_nothing_is_outside_and_nothing_overlaps(shape, label):
    _, queries, keys = shape
    figure = plot.heads(np.ones(shape), [label] * keys, [label] * queries)
    figure.draw_without_rendering()
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    for number, box in enumerate(boxes):
        assert 0 <= box.x0 and box.x1 <= figure.bbox.x1
        assert 0 <= box.y0 and box.y1 <= figure.bbox.y1
        assert not any(box.overlaps(other) for other in boxes[:number])
    sizes = {axes.get_window_extent().bounds[2:] for axes in panels(figure)}
    (width, height), *others = sizes
    np.testing.assert_allclose(others, [(width, height)] * len(others))
    # A label of 7 points has a line to itself, and every panel can be seen.
    line = 7 * figure.dpi / 72
    assert width / keys > line and height / queries > line
    assert min(width, height) > 0.4 * figure.dpi


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_tensors_of_any_precision_are_drawn(dtype):
    figure = plot.heads(tf.cast(WEIGHTS, dtype))
    np.testing.assert_allclose(drawn(figure), WEIGHTS, atol=1e-2)


def test_nothing_but_zeros_can_be_drawn():
    assert not np.any(drawn(plot.heads(np.zeros((1, 2, 3)))))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((WEIGHTS[None],), "Of a batch, pick one example"),
        ((WEIGHTS[0],), r"must be \(heads, query, key\)"),
        ((WEIGHTS[:0],), r"must be \(heads, query, key\)"),
        ((WEIGHTS, "ab"), "`source` must have a label for each of 3"),
        ((WEIGHTS, "abc", "xyz"), r"`target` .* of 2 .*Received: 3"),
        ((WEIGHTS - 0.5,), "not negative"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        plot.heads(*arguments)


def test_without_matplotlib_it_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install .keras_attn\[plot\]"):
        plot.heads(WEIGHTS)
