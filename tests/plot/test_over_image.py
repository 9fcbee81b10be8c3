import sys

import numpy as np
import pytest
import tensorflow as tf
from matplotlib.figure import Figure

from keras_attn import plot
from keras_attn.models import ViLBERT
from keras_attn.plot.panels import PANEL_WIDTH

RNG = np.random.default_rng(0)
WEIGHTS = RNG.uniform(size=(3, 2, 4))  # (words, rows, columns)
WORDS = ["a", "two", "[END]"]
PICTURE = RNG.integers(256, size=(6, 8, 3)).astype("uint8")


def panels(figure):
    """The axes of the picture and the words, without the scale."""
    return figure.axes[:-1]


def drawn(figure):
    """The weights over each word's picture."""
    return [axes.images[1].get_array() for axes in panels(figure)[1:]]


def test_each_word_has_its_weights_over_the_picture(tmp_path):
    figure = plot.over_image(WEIGHTS, PICTURE, WORDS)
    assert isinstance(figure, Figure)
    np.testing.assert_array_equal(drawn(figure), WEIGHTS)
    titles = [axes.get_title() for axes in panels(figure)]
    assert titles == ["", *WORDS]
    for axes in panels(figure):
        shown = axes.images[0].get_array()
        np.testing.assert_allclose(shown, PICTURE / 255)
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_grid_covers_the_picture_and_has_one_scale_for_all():
    figure = plot.over_image(WEIGHTS, PICTURE, WORDS)
    for axes in panels(figure)[1:]:
        picture, heat = axes.images
        assert picture.get_extent() == pytest.approx(heat.get_extent())
        assert heat.get_clim() == (0, WEIGHTS.max())
        # Nothing covers what is not attended to; the rest is seen through.
        assert heat.cmap(0.0)[3] == 0 and 0.5 < heat.cmap(1.0)[3] < 1


def test_cells_in_a_row_are_put_on_their_grid():
    flat = WEIGHTS.reshape(3, 8)
    figure = plot.over_image(flat, PICTURE, WORDS, grid=(2, 4))
    np.testing.assert_array_equal(drawn(figure), WEIGHTS)


# Two captions, the first of which is of a file that was no image.
ANSWER = {
    "answer_tokens": [[""] * 4, [*WORDS, ""]],
    "answer_lengths": [0, 3],
    "weights": np.stack(
        [np.zeros((4, 2, 4)), np.pad(WEIGHTS, [(0, 1), *[(0, 0)] * 2])]
    ),
}


@pytest.mark.parametrize("form", [np.asarray, lambda x: np.asarray(x).tolist()])
def test_an_answer_is_drawn_without_its_padding(form):
    answer = {name: form(rows) for name, rows in ANSWER.items()}
    figure = plot.over_image(answer, PICTURE, row=1)
    np.testing.assert_array_equal(drawn(figure), WEIGHTS)
    assert [axes.get_title() for axes in panels(figure)[1:]] == WORDS


@pytest.mark.parametrize(
    "image",
    [
        PICTURE[..., 0],
        PICTURE[..., :1],
        tf.constant(PICTURE[..., :1] / 255, "float32"),
    ],
    ids=["rank 2", "one channel", "tensor"],
)
def test_grey_pictures_are_drawn_grey(image):
    figure = plot.over_image(WEIGHTS, image, WORDS)
    shown = figure.axes[0].images[0]
    np.testing.assert_allclose(shown.get_array(), PICTURE[..., 0] / 255)
    assert shown.cmap.name == "gray" and shown.get_clim() == (0, 1)


@pytest.mark.parametrize("num_words", [1, 6, 14])
@pytest.mark.parametrize("shape", [(3, 9), (9, 3)], ids=str)
def test_panels_keep_proportions_and_do_not_overlap(num_words, shape):
    figure = plot.over_image(
        np.ones((num_words, 2, 4)), np.zeros(shape), ["$x^"] * num_words
    )
    figure.draw_without_rendering()
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    for axes in panels(figure):
        box = axes.get_window_extent()
        assert box.width / figure.dpi == pytest.approx(PANEL_WIDTH)
        assert box.height / box.width == pytest.approx(shape[0] / shape[1])
    for number, box in enumerate(boxes):
        assert 0 <= box.x0 and box.x1 <= figure.bbox.x1
        assert 0 <= box.y0 and box.y1 <= figure.bbox.y1
        assert not any(box.overlaps(other) for other in boxes[:number])


def test_words_and_regions_are_drawn_in_both_directions():
    """What `text_to_regions` and `regions_to_text` hold, from the model."""
    model = ViLBERT(
        9,
        num_layers=1,
        num_heads=1,
        units=2,
        num_region_layers=1,
        num_region_heads=1,
        region_units=2,
        num_co_heads=1,
        co_units=2,
        image_shape=PICTURE.shape,
        patch_size=(3, 2),
    )
    inputs = {
        "tokens": tf.constant([[1, 5, 2]]),
        "segments": tf.zeros((1, 3), "int32"),
        "image": tf.constant(PICTURE[None] / 255, "float32"),
    }
    *_, forth, back = model.read(inputs, return_attention_scores=True)
    forth = forth[-1][0, 0, :, 1:].numpy()  # (words, regions)
    back = back[-1][0, 0, 1:].numpy()  # (regions, words)
    for weights in (forth, np.moveaxis(back, -1, 0)):
        figure = plot.over_image(weights, PICTURE, WORDS, grid=model.grid)
        np.testing.assert_allclose(
            np.reshape(drawn(figure), weights.shape), weights
        )


def test_nothing_but_zeros_can_be_drawn():
    figure = plot.over_image(np.zeros((1, 2, 4)), PICTURE, ["a"])
    assert not drawn(figure)[0].any()


@pytest.mark.parametrize(
    ("arguments", "options", "complaint"),
    [
        ((WEIGHTS, PICTURE), {}, "`words` are needed"),
        ((WEIGHTS[None], PICTURE, WORDS), {}, "Of a batch, pick one example"),
        ((WEIGHTS[0], PICTURE, WORDS), {}, "with `grid`"),
        (
            (WEIGHTS.reshape(3, 8), PICTURE, WORDS),
            {"grid": (3, 3)},
            "as many cells",
        ),
        ((WEIGHTS, PICTURE, WORDS), {"grid": (4, 2)}, "another grid"),
        ((WEIGHTS, PICTURE, WORDS[:2]), {}, r"len\(words\)=2"),
        ((WEIGHTS[:0], PICTURE, []), {}, "a grid for each"),
        ((WEIGHTS - 1, PICTURE, WORDS), {}, "not negative"),
        ((WEIGHTS, PICTURE[None], WORDS), {}, "pick one: image"),
        ((WEIGHTS, PICTURE[..., :2], WORDS), {}, "1 or 3 channels"),
        ((WEIGHTS, PICTURE / 127.5 - 1, WORDS), {}, "value_range"),
        ((WEIGHTS, PICTURE * np.nan, WORDS), {}, "from 0 to 1"),
        ((ANSWER, PICTURE), {}, "row 0 was not valid"),
        ((ANSWER, PICTURE, WORDS), {}, "leave `words` out"),
        (({"text": ["a"]}, PICTURE), {}, "without: answer_tokens"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        plot.over_image(*arguments, **options)


def test_without_matplotlib_it_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install .keras_attn\[plot\]"):
        plot.over_image(WEIGHTS, PICTURE, WORDS)
