import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from keras_attn import plot
from keras_attn.layers import LearnedPosition

ROWS, COLUMNS = 2, 3
TABLE = np.random.default_rng(0).normal(size=(ROWS, COLUMNS, 5))


def similarity(table, one, other):
    """The cosine of the angle between the vectors of two patches."""
    a, b = table[one], table[other]
    return sum(a * b) / (sum(a**2) * sum(b**2)) ** 0.5


def drawn(figure):
    (image,) = figure.axes[0].images
    assert image.get_clim() == (-1, 1)
    return image.get_array()


def check_tiles(figure, table):
    """A tile for each patch, and empty cells between them."""
    cells = drawn(figure)
    assert cells.shape == (ROWS * (ROWS + 1) - 1, COLUMNS * (COLUMNS + 1) - 1)
    for one in np.ndindex(ROWS, COLUMNS):
        for other in np.ndindex(ROWS, COLUMNS):
            cell = (
                one[0] * (ROWS + 1) + other[0],
                one[1] * (COLUMNS + 1) + other[1],
            )
            assert cells[cell] == pytest.approx(similarity(table, one, other))
    for row in range(1, ROWS):
        assert np.ma.getmaskarray(cells)[row * (ROWS + 1) - 1].all()
    for column in range(1, COLUMNS):
        assert np.ma.getmaskarray(cells)[:, column * (COLUMNS + 1) - 1].all()


def test_each_patch_is_compared_with_all(tmp_path):
    figure = plot.positions(TABLE)
    assert isinstance(figure, Figure)
    check_tiles(figure, TABLE)
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("num_before", [0, 1, 2])
def test_a_table_is_put_on_its_grid_without_what_stands_before(num_before):
    table = np.concatenate([np.ones((num_before, 5)), TABLE.reshape(-1, 5)])
    check_tiles(plot.positions(table, grid=(ROWS, COLUMNS)), TABLE)


def test_the_weights_of_a_layer_are_drawn():
    layer = LearnedPosition(7)
    layer.build((None, 7, 5))
    figure = plot.positions(layer.embeddings, grid=(ROWS, COLUMNS))
    table = np.asarray(layer.embeddings, "float64")[1:]
    check_tiles(figure, table.reshape(ROWS, COLUMNS, 5))


def test_tiles_are_numbered_in_their_middles():
    axes = plot.positions(TABLE).axes[0]
    assert [x.get_text() for x in axes.get_xticklabels()] == ["1", "2", "3"]
    assert axes.get_xticks().tolist() == [1, 5, 9]
    assert [y.get_text() for y in axes.get_yticklabels()] == ["1", "2"]
    assert axes.get_yticks().tolist() == [0.5, 3.5]


@pytest.mark.parametrize("grid", [(1, 1), (2, 9), (14, 14)], ids=str)
def test_cells_are_square_and_nothing_is_outside(grid):
    figure = plot.positions(np.ones((*grid, 3)))
    figure.draw_without_rendering()
    cells = drawn(figure).shape
    table = figure.axes[0].get_window_extent()
    assert table.width / cells[1] == pytest.approx(table.height / cells[0])
    assert table.width / cells[1] > 1.9  # dots
    for axes in figure.axes:
        box = axes.get_tightbbox()
        assert 0 <= box.x0 and box.x1 <= figure.bbox.x1
        assert 0 <= box.y0 and box.y1 <= figure.bbox.y1


def test_a_vector_of_zeros_is_like_nothing():
    table = TABLE.copy()
    table[1, 2] = 0
    cells = drawn(plot.positions(table))
    assert not cells[3:, 8:].any()
    assert cells[1, 2] == 0 and cells[0, 0] == pytest.approx(1)


@pytest.mark.parametrize(
    ("table", "grid", "complaint"),
    [
        (TABLE.reshape(6, 5), None, r"with `grid`.*shape=\(6, 5\), grid=None"),
        (TABLE, (3, 2), "with `grid`"),
        (TABLE[None], None, "with `grid`"),
        (TABLE[:0], None, "with `grid`"),
        (TABLE.reshape(6, 5), (3, 3), "a row for each patch"),
        (TABLE.reshape(6, 5), (0, 3), "a row for each patch"),
        (TABLE * np.nan, None, "must be finite"),
    ],
)
def test_what_cannot_be_drawn_is_refused(table, grid, complaint):
    with pytest.raises(ValueError, match=complaint):
        plot.positions(table, grid=grid)


def test_without_matplotlib_it_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install .keras_attn\[plot\]"):
        plot.positions(TABLE)
