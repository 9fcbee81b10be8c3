import math

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.positions import alibi_slopes
from keras_attn.ops.positions import positions_in_segments
from keras_attn.ops.positions import relative_buckets
from keras_attn.ops.positions import resize_grid
from keras_attn.ops.positions import rotary_angles
from keras_attn.ops.positions import rotate_pairs
from keras_attn.ops.positions import sinusoidal_encoding


def buckets_of(distances, **settings):
    """Buckets of keys that stand `distances` before the query."""
    keys = -np.array([distances])
    return relative_buckets(np.array([[0]]), keys, **settings).numpy()[0, 0]


def test_angles_are_position_times_frequency():
    angles = rotary_angles(np.array([[0, 1, 7]]), 3, base=100.0)
    for i, position in enumerate([0, 1, 7]):
        for pair in range(3):
            expected = position * 100.0 ** (-2 * pair / 6)
            np.testing.assert_allclose(angles[0, i, pair], expected, rtol=1e-6)


def test_angles_are_lowered_by_a_scaling():
    positions = np.array([[2, 5]])
    scaling = {"kind": "linear", "factor": 4.0}
    np.testing.assert_allclose(
        rotary_angles(positions, 3, scaling=scaling),
        rotary_angles(positions, 3) / 4,
        rtol=1e-6,
    )


def test_angles_of_far_positions_are_exact_to_float32():
    angles = rotary_angles(np.array([[131071, 131072]]), 2)
    assert angles.dtype == "float32"
    np.testing.assert_array_equal(angles[0, :, 0], [131071, 131072])


@pytest.mark.parametrize("interleaved", [False, True])
def test_pairs_turn_like_complex_numbers(interleaved, rng):
    heads = rng.normal(size=(2, 3, 5, 7))
    angles = rng.normal(size=(2, 3, 2)).astype("float32")
    rotated = rotate_pairs(
        tf.constant(heads), tf.constant(angles), interleaved=interleaved
    ).numpy()
    places = [(0, 1), (2, 3)] if interleaved else [(0, 2), (1, 3)]
    for pair, (real, imaginary) in enumerate(places):
        number = heads[..., real] + 1j * heads[..., imaginary]
        number *= np.exp(1j * angles.astype("float64")[..., pair, None])
        np.testing.assert_allclose(rotated[..., real], number.real, rtol=1e-6)
        np.testing.assert_allclose(
            rotated[..., imaginary], number.imag, rtol=1e-6
        )
    np.testing.assert_array_equal(rotated[..., 4:], heads[..., 4:])


def test_slopes_of_a_power_of_two_are_geometric():
    np.testing.assert_allclose(
        alibi_slopes(8), [2.0**-i for i in range(1, 9)], rtol=1e-12
    )
    assert alibi_slopes(1) == [2.0**-8]


def test_slopes_of_other_numbers_fill_up_from_the_next_power():
    # The released code of the paper gives these for twelve heads.
    expected = [2.0**-i for i in range(1, 9)]
    expected += [2.0**-0.5, 2.0**-1.5, 2.0**-2.5, 2.0**-3.5]
    np.testing.assert_allclose(alibi_slopes(12), expected, rtol=1e-12)
    np.testing.assert_allclose(
        alibi_slopes(3), [2.0**-4, 2.0**-8, 2.0**-2], rtol=1e-12
    )


def test_buckets_of_t5_are_where_t5_has_them():
    # First distance of each bucket with 32 buckets up to distance 128.
    first = [*range(9), 12, 16, 23, 32, 46, 64, 91]
    expected = np.searchsorted(first, np.arange(200), side="right") - 1
    np.testing.assert_array_equal(buckets_of(range(200)), expected)
    after = buckets_of([-distance for distance in range(1, 200)])
    np.testing.assert_array_equal(after, expected[1:] + 16)


@pytest.mark.parametrize("num_buckets", [2, 7, 32])
def test_one_directional_buckets_follow_the_logarithm(num_buckets):
    exact = num_buckets // 2
    expected = []
    for n in range(1, 150):
        bucket = n
        if n >= exact:
            share = math.log(n / exact) / math.log(101 / exact)
            # 101 is prime, so no share but 0 and 1 falls on a boundary.
            bucket = exact + int(share * (num_buckets - exact) + 1e-9)
        expected.append(min(bucket, num_buckets - 1))
    actual = buckets_of(
        range(1, 150),
        num_buckets=num_buckets,
        max_distance=101,
        bidirectional=False,
    )
    np.testing.assert_array_equal(actual, expected)
    future = buckets_of([-1, -1000], bidirectional=False)
    np.testing.assert_array_equal(future, [0, 0])


def test_huge_distances_share_the_last_bucket():
    far = [128, 10**6, 2**31 - 2]
    np.testing.assert_array_equal(buckets_of(far), [15, 15, 15])
    before = [-n for n in far]
    np.testing.assert_array_equal(buckets_of(before), [31, 31, 31])
    np.testing.assert_array_equal(
        buckets_of(far, bidirectional=False), [31] * 3
    )


@pytest.mark.parametrize("units", [1, 6, 7])
def test_sine_places_are_those_of_the_paper(units):
    positions = np.array([[0, 1, 9], [70, 2, 500]])
    places = sinusoidal_encoding(positions, units, base=30.0).numpy()
    assert places.shape == (2, 3, units)
    assert places.dtype == "float32"
    for row, place, j in np.ndindex(places.shape):
        angle = positions[row, place] / 30.0 ** ((j - j % 2) / units)
        expected = math.cos(angle) if j % 2 else math.sin(angle)
        assert abs(places[row, place, j] - expected) < 1e-4


@pytest.mark.parametrize("units", [1, 6, 7])
def test_sine_places_may_be_split_into_halves(units):
    positions = np.array([[0, 1, 9], [70, 2, 500]])
    places = sinusoidal_encoding(positions, units, base=30.0).numpy()
    split = sinusoidal_encoding(positions, units, base=30.0, interleaved=False)
    num_sines = (units + 1) // 2
    np.testing.assert_array_equal(split[..., :num_sines], places[..., 0::2])
    np.testing.assert_array_equal(split[..., num_sines:], places[..., 1::2])


def test_sine_places_turn_by_the_same_amount_at_every_step():
    # The paper's reason for them: place(p + k) is a linear map of place(p).
    places = sinusoidal_encoding(np.arange(50)[None], 8)[0].numpy()
    pairs = places[:, 0::2] + 1j * places[:, 1::2]
    turned = pairs[7:] / pairs[:-7]
    np.testing.assert_allclose(turned, turned[:1].repeat(43, 0), atol=1e-4)


def test_a_grid_of_the_same_size_stays(rng):
    table = rng.normal(size=(2 + 3 * 4, 5)).astype("float32")
    same = resize_grid(table, (3, 4), (3, 4), 2)
    np.testing.assert_allclose(same, table, rtol=1e-6)


def cubic(distance, a=-0.75):
    """Cubic convolution between cells, as Keys defines it."""
    d = abs(distance)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0


def stretched(grid, new):
    """Each new cell from the 16 old ones around it, in float64."""
    height, width, units = grid.shape
    out = np.zeros((*new, units))
    for y, x in np.ndindex(*new):
        # The centre of the new cell, measured in old ones.
        down = (y + 0.5) * height / new[0] - 0.5
        right = (x + 0.5) * width / new[1] - 0.5
        for i in range(math.floor(down) - 1, math.floor(down) + 3):
            for j in range(math.floor(right) - 1, math.floor(right) + 3):
                weight = cubic(down - i) * cubic(right - j)
                i_inside = min(max(i, 0), height - 1)
                j_inside = min(max(j, 0), width - 1)
                out[y, x] += weight * grid[i_inside, j_inside]
    return out


SIZES = [((3, 4), (7, 5)), ((6, 5), (3, 2)), ((1, 2), (3, 3))]


@pytest.mark.parametrize(("old", "new"), SIZES)
def test_a_grid_is_stretched_by_cubic_convolution(old, new, rng):
    table = rng.normal(size=(1 + math.prod(old), 3))
    expected = stretched(table[1:].reshape(*old, 3), new).reshape(-1, 3)
    actual = resize_grid(table.astype("float32"), old, new, 1)
    np.testing.assert_allclose(actual[:1], table[:1], rtol=1e-6)
    np.testing.assert_allclose(actual[1:], expected, atol=1e-5)


def test_a_grid_is_stretched_in_a_compiled_function(rng):
    table = rng.normal(size=(13, 3)).astype("float32")
    compiled = tf.function(
        lambda x: resize_grid(x, (3, 4), (6, 5), 1), jit_compile=True
    )
    np.testing.assert_allclose(
        compiled(table), resize_grid(table, (3, 4), (6, 5), 1), atol=1e-6
    )


@pytest.mark.peers
@pytest.mark.parametrize(("old", "new"), [*SIZES, ((14, 14), (24, 24))])
def test_a_grid_is_stretched_as_torch_does(old, new, rng):
    import torch

    table = rng.normal(size=(math.prod(old), 5)).astype("float32")
    grid = torch.tensor(table.reshape(1, *old, 5)).permute(0, 3, 1, 2)
    expected = torch.nn.functional.interpolate(
        grid, size=new, mode="bicubic", align_corners=False
    )
    expected = expected.permute(0, 2, 3, 1).reshape(-1, 5)
    np.testing.assert_allclose(
        resize_grid(table, old, new), expected, rtol=1e-5, atol=1e-5
    )


def test_a_table_of_another_grid_is_refused():
    with pytest.raises(
        ValueError, match=r"14 rows, num_prefix_tokens=1.*\(3, 4\)"
    ):
        resize_grid(np.ones((14, 5)), (3, 4), (6, 8), 1)


def test_positions_restart_in_each_segment():
    segments = np.array([[1, 1, 2, 2, 2, 3, 0, 0], [4, 2, 2, 7, 7, 7, 7, 7]])
    expected = [[0, 1, 0, 1, 2, 0, 0, 1], [0, 0, 1, 0, 1, 2, 3, 4]]
    found = positions_in_segments(segments)
    assert found.dtype == "int32"
    np.testing.assert_array_equal(found, expected)
    compiled = tf.function(positions_in_segments, jit_compile=True)
    np.testing.assert_array_equal(compiled(tf.constant(segments)), expected)
    assert positions_in_segments(segments[:, :0]).shape == (2, 0)
