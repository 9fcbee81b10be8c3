import numpy as np
import pytest

from keras_attn.attention.heads.axes import AttentionAxes

QUERY = (2, 3, 4, 5, 6)
KEY = (2, 3, 7, 8, 9)


@pytest.mark.parametrize(
    ("given", "found"),
    [(None, (1, 2, 3)), ((2,), (2,)), ((-2, 1), (3, 1))],
    ids=str,
)
def test_axes_are_counted_from_the_front(given, found):
    assert AttentionAxes.of(given, 5).axes == found


@pytest.mark.parametrize("wrong", [(0,), (4,), (-1,), (1, -4), ()], ids=str)
def test_only_different_axes_in_between_can_look(wrong):
    with pytest.raises(ValueError, match="`attention_axes` must be"):
        AttentionAxes.of(wrong, 5)


def test_a_sequence_is_left_as_it_is(rng):
    axes = AttentionAxes.of(None, 3)
    x = rng.normal(size=(2, 3, 4, 5))
    assert axes.fold(x) is x
    assert axes.unfold(x, x) is x


@pytest.mark.parametrize("given", [(2, 3), (3, 2), (1,), (3,), None], ids=str)
def test_unfolding_undoes_folding(given, rng):
    axes = AttentionAxes.of(given, 5)
    heads = rng.normal(size=(*QUERY[:-1], 2, 7))  # (..., heads, depth)
    folded = axes.fold(heads)
    length = np.prod([QUERY[axis] for axis in axes.axes])
    assert folded.shape == (2 * 3 * 4 * 5 // length, length, 2, 7)
    np.testing.assert_array_equal(axes.unfold(folded, heads[..., 0]), heads)


def test_one_row_holds_what_looks_at_each_other(rng):
    x = rng.normal(size=QUERY)
    folded = AttentionAxes.of((1,), 5).fold(x)  # rows: batch, axis 2, axis 3
    np.testing.assert_array_equal(folded[1 * 20 + 2 * 5 + 3], x[1, :, 2, 3])


@pytest.mark.parametrize(
    "shape",
    [
        (2, 3, 2, 4, 5, 7, 8),
        (2, 3, 4, 5, 7, 8),
        (2, 4, 5, 7, 8),
        (4, 5, 7, 8),
        (2, 1, 1, 1, 7, 8),
        (1, 3, 2, 4, 1, 1, 8),
    ],
    ids=str,
)
def test_a_mask_is_folded_like_the_weights_it_hides(shape, rng):
    axes = AttentionAxes.of((2, 3), 5)
    query, key = np.zeros(QUERY), np.zeros(KEY)
    mask = rng.random(shape) < 0.5
    folded = np.asarray(axes.fold_mask(mask, query, key, 2))
    assert folded.ndim == 4

    full = mask  # (batch, axis 1, heads, *query, *key)
    while full.ndim < 7:
        full = np.expand_dims(full, full.ndim - 4)
    full = np.broadcast_to(full, axes.weights_shape(QUERY, KEY, 2))
    np.testing.assert_array_equal(
        np.broadcast_to(folded, (6, 2, 20, 56)), full.reshape(6, 2, 20, 56)
    )


def test_a_mask_that_is_the_same_everywhere_stays_small():
    axes = AttentionAxes.of((2, 3), 5)
    mask = np.ones((4, 5, 7, 8), "bool")
    folded = axes.fold_mask(mask, np.zeros(QUERY), np.zeros(KEY), 2)
    assert folded.shape == (1, 1, 20, 56)


def test_padding_may_cover_the_first_axes_only():
    axes = AttentionAxes.of((2, 3), 5)
    x = np.zeros(QUERY)
    frames = np.array([[True, True, False], [True, False, False]])
    folded = axes.fold_padding(frames, x, "query_mask")
    np.testing.assert_array_equal(
        folded, np.repeat(frames.reshape(6, 1), 20, axis=1)
    )
    assert axes.fold_padding(None, x, "query_mask") is None
