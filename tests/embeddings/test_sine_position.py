import math

import numpy as np
import pytest

from keras_attn.embeddings.sine_position import SinePosition
from tests.contract import check_layer
from tests.contract import check_mask_goes_on


def places_of(positions, units, base=10000.0):
    """Section 3.5 of the paper, one number at a time."""
    places = np.zeros((len(positions), units))
    for row, position in enumerate(positions):
        for j in range(units):
            angle = position / base ** (2 * (j // 2) / units)
            places[row, j] = math.cos(angle) if j % 2 else math.sin(angle)
    return places


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 5, 6)).astype("float32")


@pytest.mark.parametrize(
    ("init", "features"),
    [
        ({}, 6),
        ({"units": 3, "merge": "concat", "base": 50.0}, 9),
        ({"grid_width": 2}, 6),
        ({"interleaved": False}, 6),
    ],
    ids=["add", "concat", "grid", "halves"],
)
def test_contract(init, features, inputs, tmp_path):
    check_layer(
        SinePosition,
        init,
        {"inputs": inputs},
        output_shape=(2, 5, features),
        tmp_path=tmp_path,
        padded=(),  # it looks at no other position
    )
    check_mask_goes_on(SinePosition(**init), inputs)


@pytest.mark.parametrize("features", [6, 7, 1])
@pytest.mark.parametrize("base", [10000.0, 20.0])
def test_matches_the_equation(features, base, rng):
    x = rng.normal(size=(2, 5, features))
    expected = x + places_of(range(5), features, base)
    output = SinePosition(base=base)(x)
    np.testing.assert_allclose(output, expected, atol=1e-5)


@pytest.mark.parametrize("features", [6, 7, 1])
def test_sines_may_stand_before_cosines(features, rng):
    # As Marian has them: the even columns, then the odd ones.
    x = rng.normal(size=(2, 5, features))
    places = places_of(range(5), features)
    places = np.concatenate([places[:, 0::2], places[:, 1::2]], axis=1)
    output = SinePosition(interleaved=False)(x)
    np.testing.assert_allclose(output, x + places, atol=1e-5)


def test_on_a_grid_one_half_tells_the_row_and_the_other_the_column(rng):
    # Appendix A.4 of Carion et al., for 4 rows of 3 cells.
    x = rng.normal(size=(2, 12, 10))
    rows, columns = np.divmod(np.arange(12), 3)
    halves = [places_of(each, 5, 20.0) for each in (rows, columns)]
    output = SinePosition(base=20.0, grid_width=3)(x)
    np.testing.assert_allclose(
        output, x + np.concatenate(halves, axis=1), atol=1e-5
    )


def test_a_grid_needs_two_halves():
    with pytest.raises(ValueError, match=r"even length.*units=7"):
        SinePosition(grid_width=3)(np.zeros((2, 6, 7), "float32"))


@pytest.mark.parametrize("units", [None, 4, 9])
def test_concat_appends_the_place(units, inputs):
    output = SinePosition(units, merge="concat")(inputs)
    np.testing.assert_array_equal(output[..., :6], inputs)
    expected = places_of(range(5), units or 6)
    for row in output:
        np.testing.assert_allclose(row[:, 6:], expected, atol=1e-6)


def test_each_row_may_stand_elsewhere(inputs):
    positions = np.array([[4, 5, 6, 7, 8], [0, 0, 3, 1, 100]])
    output = SinePosition()(inputs, positions)
    for row in range(2):
        expected = inputs[row] + places_of(positions[row], 6)
        np.testing.assert_allclose(output[row], expected, atol=1e-5)


def test_places_are_bounded_and_unique_at_any_length():
    places = SinePosition()(np.zeros((1, 3000, 16), "float32"))[0].numpy()
    assert np.abs(places).max() <= 1
    # Squared distance from |a|² + |b|² - 2 a · b, each |a|² being 8.
    distance = 16 - 2 * places @ places.T
    np.fill_diagonal(distance, np.inf)
    assert distance.min() > 1e-3


def test_the_first_frequency_is_one_and_they_fall():
    sines = SinePosition()(np.zeros((1, 2, 10), "float32"))[0, 1, ::2]
    assert sines[0] == np.float32(np.sin(1))
    assert np.all(np.diff(sines) < 0)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"merge": "sum"}, "`merge` must be"),
        ({"units": 0, "merge": "concat"}, "`units` must be"),
        ({"base": 1.0}, "`base` must be a number above 1"),
        ({"grid_width": 0}, "`grid_width` must be"),
    ],
)
def test_refuses_to_be_made(init, message):
    with pytest.raises(ValueError, match=message):
        SinePosition(**init)


def test_what_is_added_must_be_as_wide_as_the_features(inputs):
    with pytest.raises(ValueError, match="units=4, features=6"):
        SinePosition(4)(inputs)
