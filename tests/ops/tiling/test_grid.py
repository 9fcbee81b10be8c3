import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.tiling.grid import Grid
from keras_attn.ops.tiling.grid import pick

QUERY, KEY = 5, 7
QUERY_TILES, KEY_TILES = (2, 3), (3, 3)

SHAPES = [(2, 4, 5, 7), (1, 4, 1, 7), (2, 1, 5, 1), (1, 1, 1, 1)]


def cut(x):
    return Grid.cut(x, QUERY, QUERY_TILES, KEY, KEY_TILES)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_tile_is_the_broadcast_matrix_there(shape, rng):
    x = rng.normal(size=shape)
    whole = np.zeros((2, 4, 6, 9))
    whole[:, :, :QUERY, :KEY] = x
    for row in range(2):
        for column in range(3):
            rows = slice(3 * row, min(3 * row + 3, QUERY))
            columns = slice(3 * column, min(3 * column + 3, KEY))
            height = rows.stop - rows.start
            width = columns.stop - columns.start
            tile = np.broadcast_to(
                pick(cut(tf.constant(x)), row, column), (2, 4, 3, 3)
            )
            np.testing.assert_array_equal(
                tile[:, :, :height, :width], whole[:, :, rows, columns]
            )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_joining_undoes_cutting(shape, rng):
    x = tf.constant(rng.normal(size=shape))
    grid = cut(x)
    np.testing.assert_array_equal(grid.join(grid.tiles, x), x)


def test_an_axis_of_one_is_not_cut(rng):
    padding = tf.constant(rng.random((2, 1, 1, KEY)) < 0.5)
    assert cut(padding).tiles.shape == (3, 2, 1, 1, 3)


def test_padding_is_hidden():
    grid = cut(tf.ones((1, 1, QUERY, KEY), tf.bool))
    last = pick(grid, 1, 2)[0, 0]
    assert last.numpy().tolist() == [
        [True, False, False],
        [True, False, False],
        [False, False, False],
    ]


def test_an_axis_that_may_turn_out_to_be_one_is_spread(rng):
    @tf.function(input_signature=[tf.TensorSpec((1, 1, None, None))])
    def last_tile(x):
        return pick(cut(x), 1, 2)

    x = np.full((1, 1, 1, KEY), 2.0, "float32")
    assert last_tile(x)[0, 0, :2, 0].numpy().tolist() == [2.0, 2.0]


def test_no_grid_has_no_tiles():
    assert pick(None, 0, 0) is None
