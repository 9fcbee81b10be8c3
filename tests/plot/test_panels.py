import numpy as np
import pytest

from keras_attn.plot import panels


def boxes(axes):
    """Left, bottom, width and height of each, in inches."""
    return [each.get_position().bounds for each in axes]


def test_panels_stand_in_rows_without_touching():
    _, drawn = panels.new_panels(8, 2.0, 1.0)
    first, second, *_ = boxes(drawn)
    seventh = boxes(drawn)[6]
    assert first == pytest.approx((0, 0, 2, 1))
    assert second[0] == pytest.approx(2 + panels.GAP) and second[1] == 0
    assert seventh[0] == 0
    assert seventh[1] + 1 + panels.TITLE_HEIGHT < 0


@pytest.mark.parametrize("count", [2, 7])
def test_the_scale_stands_beside_the_end_of_the_first_row(count):
    figure, drawn = panels.new_panels(count, 2.0, 1.0)
    image = drawn[0].imshow(np.ones((2, 3)), aspect="auto", vmin=0)
    panels.add_scale(figure, drawn, image, "weight")
    last, scale = boxes([drawn[min(count, 6) - 1], figure.axes[-1]])
    assert scale[0] == pytest.approx(last[0] + 2 + panels.GAP)
    assert scale[1] == 0 and scale[3] == pytest.approx(1)
    assert figure.axes[-1].get_ylabel() == "weight"
