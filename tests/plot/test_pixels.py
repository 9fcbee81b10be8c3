import numpy as np
import pytest

from keras_attn import plot


@pytest.fixture
def weights(rng):
    numbers = rng.uniform(size=(4, 2, 3, 5))
    return numbers / numbers.sum(axis=(2, 3), keepdims=True)


def test_each_pixel_has_a_panel_of_where_it_looked(weights, rng):
    image = rng.uniform(size=(8, 6, 3))
    figure = plot.pixels(weights, image, [(0, 0), (7, 2), (5, 3)])
    panels = figure.axes[1:4]
    for axes, place in zip(panels, [(0, 0), (3, 0), (2, 1)], strict=True):
        shown = axes.images[-1].get_array()
        np.testing.assert_array_equal(shown, weights[place])
    marks = [
        tuple(float(x[0]) for x in axes.lines[0].get_data()) for axes in panels
    ]
    assert marks == [(0, 0), (2, 7), (3, 5)]  # across, then down
    assert not figure.axes[0].lines


@pytest.mark.parametrize("pixel", [(8, 0), (0, 6), (-1, 0)])
def test_refuses_pixels_outside_of_the_image(pixel, weights):
    with pytest.raises(ValueError, match="rows from 0 to 7 and columns"):
        plot.pixels(weights, np.zeros((8, 6)), [pixel])


def test_refuses_weights_of_a_batch(weights):
    with pytest.raises(ValueError, match=r"pick one example: weights\[0\]"):
        plot.pixels(weights[None], np.zeros((8, 6)), [(0, 0)])
