import importlib
import sys

import matplotlib
import pytest

from keras_attn.plot import canvas


def test_a_figure_has_the_size_asked_for_and_no_part_in_pyplot():
    figure = canvas.new_figure(3.0, 2.0)
    assert tuple(figure.get_size_inches()) == (3.0, 2.0)
    pyplot = importlib.import_module("matplotlib.pyplot")
    assert not pyplot.get_fignums()


def test_a_figure_grows_to_what_is_drawn_and_its_axes_stay():
    figure = canvas.new_figure(3.0, 2.0)
    axes = figure.add_axes((0.5, 0.25, 1.0, 0.5))
    axes.set_ylabel("a label that is much longer than its axis is high")
    before = axes.get_window_extent()
    canvas.fit_to_drawing(figure)
    figure.draw_without_rendering()
    after = axes.get_window_extent()
    assert (after.width, after.height) == pytest.approx((300, 100))
    assert (before.width, before.height) == pytest.approx((300, 100))
    label = axes.yaxis.label.get_window_extent()
    margin = canvas.MARGIN * figure.dpi
    assert label.y0 == pytest.approx(margin, abs=1)
    assert label.y1 == pytest.approx(figure.bbox.y1 - margin, abs=1)
    assert label.x0 == pytest.approx(margin, abs=1)


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install .keras_attn\[plot\]"):
        canvas.new_figure(3.0, 2.0)


def test_only_installed_fonts_stand_in(monkeypatch):
    monkeypatch.setattr(
        canvas, "FALLBACK_FONTS", ("No Such Font", "DejaVu Serif")
    )
    default = matplotlib.rcParams["font.family"]
    assert canvas.font_families() == [*default, "DejaVu Serif"]


def test_zero_is_white_and_one_is_not_black():
    colours = canvas.light_to_dark()
    assert colours(0.0) == (1.0, 1.0, 1.0, 1.0)
    assert min(colours(1.0)[:3]) < 0.5 < max(colours(1.0)[:3])
