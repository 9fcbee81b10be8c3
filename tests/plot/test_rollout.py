import numpy as np
import pytest
import tensorflow as tf
from matplotlib.figure import Figure

from keras_attn import plot

RNG = np.random.default_rng(0)
GRID = 2, 3
PICTURE = RNG.integers(256, size=(4, 6, 3)).astype("uint8")
ROLLED = RNG.uniform(size=GRID)


def layers(num_tokens):
    """Weights of two layers, with two heads and with four."""
    weights = [RNG.uniform(size=(n, num_tokens, num_tokens)) for n in (2, 4)]
    return [each / each.sum(axis=-1, keepdims=True) for each in weights]


def drawn(figure):
    """What is over the picture; the picture alone is the first panel."""
    assert len(figure.axes) == 3  # and the scale
    picture, over, _ = figure.axes
    for axes in (picture, over):
        shown = axes.images[0].get_array()
        np.testing.assert_allclose(shown, PICTURE / 255)
    return over.images[1].get_array()


@pytest.mark.parametrize(
    ("num_tokens", "read"),
    [
        (6, lambda rolled: rolled.mean(axis=0)),
        (7, lambda rolled: rolled[0, 1:]),
        (8, lambda rolled: rolled[0, 2:]),
    ],
    ids=["mean", "class token", "distillation"],
)
@pytest.mark.parametrize("form", [list, lambda x: [tf.constant(y) for y in x]])
def test_layers_are_rolled_out_over_the_picture(num_tokens, read, form):
    weights = layers(num_tokens)
    # Rows of each sum to 1, so those of the half with the identity do.
    one, two = (
        (each.mean(axis=0) + np.identity(num_tokens)) / 2 for each in weights
    )
    figure = plot.rollout(form(weights), PICTURE, grid=GRID)
    assert isinstance(figure, Figure)
    np.testing.assert_allclose(drawn(figure), read(two @ one).reshape(GRID))
    assert figure.axes[1].get_title() == "rollout"


@pytest.mark.parametrize("form", [np.asarray, lambda x: np.asarray(x).tolist()])
def test_what_is_rolled_out_already_is_drawn_as_it_is(form):
    np.testing.assert_array_equal(
        drawn(plot.rollout(form(ROLLED), PICTURE)), ROLLED
    )


@pytest.mark.parametrize("form", [np.asarray, lambda x: np.asarray(x).tolist()])
def test_an_answer_is_drawn(form):
    answer = {
        "weights": form([np.zeros(GRID), ROLLED]),
        "valid": form([False, True]),
    }
    figure = plot.rollout(answer, PICTURE, row=1)
    np.testing.assert_array_equal(drawn(figure), ROLLED)
    with pytest.raises(ValueError, match="row 0 was not valid"):
        plot.rollout(answer, PICTURE)


@pytest.mark.parametrize(
    ("weights", "options", "complaint"),
    [
        (layers(7), {}, "`grid` is needed"),
        (layers(7), {"grid": (4, 4)}, r"grid=\(4, 4\), 7 positions"),
        (
            [[x, x] for x in layers(7)],
            {"grid": GRID},
            "must be a list with the self-att",
        ),
        ([-layers(7)[0]], {"grid": GRID}, "not negative"),
        (ROLLED, {"grid": (3, 2)}, "another grid"),
        ({"weights": [ROLLED]}, {}, "without: valid"),
    ],
)
def test_what_cannot_be_drawn_is_refused(weights, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        plot.rollout(weights, PICTURE, **options)
