import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.tiling import tiles


@pytest.mark.parametrize(
    ("length", "tile", "expected"),
    [
        (520, 512, (2, 260)),
        (512, 512, (1, 512)),
        (7, 3, (3, 3)),
        (1, 9, (1, 1)),
        (0, 4, (1, 1)),
    ],
)
def test_tiles_are_of_equal_size_and_cover_the_length(length, tile, expected):
    assert tiles.tile_count(length, tile) == expected
    unknown = tiles.tile_count(tf.constant(length), tile)
    assert tuple(int(x) for x in unknown) == expected


@pytest.mark.parametrize("length", [0, 1, 6, 7])
def test_joining_undoes_splitting(length, rng):
    x = rng.normal(size=(2, length, 4, 5))
    cut = tiles.split_heads(tf.constant(x), *tiles.tile_count(length, 3))
    np.testing.assert_array_equal(tiles.join_heads(cut, length), x)


def test_a_tile_holds_the_heads_of_its_stretch(rng):
    x = rng.normal(size=(2, 7, 4, 5))
    cut = tiles.split_heads(tf.constant(x), 3, 3)
    np.testing.assert_array_equal(cut[1], x[:, 3:6].swapaxes(1, 2))
    np.testing.assert_array_equal(cut[2, :, :, 1:], np.zeros((2, 4, 2, 5)))


def test_padding_repeats_the_last_position():
    cut = tiles.split_positions(tf.constant([[5, 7, 9, 11, 40]]), 2, 3)
    assert cut.numpy().tolist() == [[[5, 7, 9]], [[11, 40, 40]]]


def test_positions_of_nothing_are_one_tile():
    cut = tiles.split_positions(tf.zeros([2, 0], tf.int32), 1, 1)
    assert cut.shape == (1, 2, 1)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("window", [None, 1, 4])
def test_ranges_leave_out_no_tile_that_can_be_seen(causal, window, rng):
    query_positions = rng.integers(0, 30, size=(2, 9))
    key_positions = np.sort(rng.integers(0, 30, size=(2, 12)))
    spans = tiles.visible_ranges(
        tiles.split_positions(tf.constant(query_positions), 3, 3),
        tiles.split_positions(tf.constant(key_positions), 4, 3),
        causal=causal,
        window=window,
    )
    distance = query_positions[:, :, None] - key_positions[:, None]
    seen = (distance >= 0) | (not causal)
    if window:
        seen &= abs(distance) < window
    seen = seen.reshape(2, 3, 3, 4, 3).any(axis=(0, 2, 4))  # (3, 4)
    for tiles_seen, (first, stop) in zip((seen, seen.T), spans, strict=True):
        for row, start, end in zip(tiles_seen, first, stop, strict=True):
            assert not row[: int(start)].any()
            assert not row[int(end) :].any()


def test_a_causal_query_tile_stops_at_itself():
    positions = tiles.split_positions(tf.range(12)[None], 4, 3)
    (first, stop), (start, end) = tiles.visible_ranges(
        positions, positions, causal=True, window=None
    )
    assert first.numpy().tolist() == [0, 0, 0, 0]
    assert stop.numpy().tolist() == [1, 2, 3, 4]
    assert start.numpy().tolist() == [0, 1, 2, 3]
    assert end.numpy().tolist() == [4, 4, 4, 4]


def test_a_window_visits_only_the_tiles_around_it():
    positions = tiles.split_positions(tf.range(12)[None], 4, 3)
    (first, stop), _ = tiles.visible_ranges(
        positions, positions, causal=False, window=2
    )
    assert first.numpy().tolist() == [0, 0, 1, 2]
    assert stop.numpy().tolist() == [2, 3, 4, 4]


def test_a_tile_that_sees_nothing_has_an_empty_range():
    (first, stop), _ = tiles.visible_ranges(
        tf.constant([[[0]]]), tf.constant([[[5]]]), causal=True, window=None
    )
    assert int(first[0]) == int(stop[0])


def test_a_tile_visits_the_tiles_of_its_segments_only():
    positions = tiles.split_positions(tf.range(12)[None], 4, 3)
    # The last tile is padding, and the third holds some.
    segments = tf.constant([[1, 1, 1, 1, 2, 2, 3, 3, 0, 0, 0, 0]])
    segments = tiles.split_positions(segments, 4, 3)
    (first, stop), (start, end) = tiles.visible_ranges(
        positions,
        positions,
        causal=False,
        window=None,
        segments=(segments, segments),
    )
    assert first.numpy().tolist() == start.numpy().tolist() == [0, 0, 2, 0]
    assert stop.numpy().tolist() == end.numpy().tolist() == [2, 2, 3, 0]


def test_segments_leave_out_no_tile_that_can_be_seen(rng):
    query, key = rng.integers(0, 5, size=(2, 9)), rng.integers(0, 5, (2, 12))
    query[0], key[0] = np.sort(query[0]), np.sort(key[0])
    spans = tiles.visible_ranges(
        tf.zeros([3, 1, 3], tf.int32),
        tf.zeros([4, 1, 3], tf.int32),
        causal=False,
        window=None,
        segments=(
            tiles.split_positions(tf.constant(query), 3, 3),
            tiles.split_positions(tf.constant(key), 4, 3),
        ),
    )
    seen = (query[:, :, None] == key[:, None]) & (key[:, None] > 0)
    seen = seen.reshape(2, 3, 3, 4, 3).any(axis=(0, 2, 4))  # (3, 4)
    for tiles_seen, (first, stop) in zip((seen, seen.T), spans, strict=True):
        for row, start, end in zip(tiles_seen, first, stop, strict=True):
            assert not row[: int(start)].any()
            assert not row[int(end) :].any()
