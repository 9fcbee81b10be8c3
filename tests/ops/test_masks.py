import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops import masks


def test_integers_are_taken_as_booleans():
    mask = masks.as_boolean(np.array([1, 0]))
    np.testing.assert_array_equal(mask, [True, False])
    assert mask.dtype == "bool"


def test_a_missing_mask_stays_missing():
    assert masks.as_boolean(None) is None
    assert masks.key_mask(None) is None
    assert masks.combine(None, None) is None
    assert masks.for_attention() is None


@pytest.mark.parametrize(
    "given",
    [
        [[True, False]],
        [[1, 0]],
        [[1.0, 0.0]],
        np.array([[1.0, 0.0]]),
        tf.constant([[1.0, 0.0]], "bfloat16"),
    ],
    ids=["booleans", "integers", "floats", "array", "bfloat16"],
)
def test_lists_and_known_zeros_and_ones_are_taken(given):
    np.testing.assert_array_equal(masks.as_boolean(given), [[True, False]])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("hidden", [-np.inf, -1e4, 0.5, np.nan], ids=str)
def test_a_mask_of_other_numbers_is_refused_by_name(hidden, dtype):
    with pytest.raises(
        ValueError, match=f"`value_mask`.*dtype={dtype} with other.*bias"
    ):
        masks.as_boolean(np.array([[0, hidden]], dtype), "value_mask")


def test_floats_that_are_not_known_yet_are_refused():
    run = tf.function(lambda mask: masks.as_boolean(mask, "value_mask"))
    message = "`value_mask`.*dtype=float32 with values that are not known yet"
    with pytest.raises(ValueError, match=message):
        run(tf.ones((2, 3)))
    with pytest.raises(ValueError, match=message):
        masks.as_boolean(keras.Input((3,)), "value_mask")


def test_combine_ignores_missing_masks_and_broadcasts():
    padding = np.array([[True, True, False]])  # (batch, key)
    causal = np.tri(3, dtype="bool")  # (query, key)
    both = masks.combine(None, causal, masks.key_mask(padding))
    np.testing.assert_array_equal(both, [[[1, 0, 0], [1, 1, 0], [1, 1, 0]]])


def test_padding_alone_makes_no_matrix():
    visible = masks.for_attention(
        value_mask=np.array([[True, True, False]]),
        key_mask=np.array([[True, False, True]]),
    )
    np.testing.assert_array_equal(visible, [[[True, False, False]]])


@pytest.mark.parametrize(
    "shape",
    [(5,), (3, 1), (3, 5), (2, 1, 5), (2, 3, 5), (2, 4, 3, 5), (1, 4, 1, 1)],
    ids=str,
)
def test_every_mask_that_broadcasts_is_joined_with_padding(shape, rng):
    attention_mask = rng.random(shape) < 0.5
    value_mask = rng.random((2, 5)) < 0.5
    target = (2, 4, 3, 5) if len(shape) == 4 else (2, 3, 5)
    visible = masks.for_attention(
        value_mask=value_mask, attention_mask=attention_mask, shape=target
    )
    lifted = (
        value_mask[:, None] if len(target) == 3 else value_mask[:, None, None]
    )
    np.testing.assert_array_equal(
        np.broadcast_to(visible, target),
        np.broadcast_to(attention_mask & lifted, target),
    )


@pytest.mark.parametrize(
    "name, shape",
    [
        ("attention_mask", (2, 5)),
        ("attention_mask", (2, 4, 5)),
        ("attention_mask", (1, 2, 3, 5)),
        ("value_mask", (2, 4)),
        ("value_mask", (2, 1, 5)),
        ("key_mask", (5,)),
        ("key_mask", (3, 5)),
    ],
)
def test_a_mask_that_does_not_fit_is_refused_by_name(name, shape):
    mask = np.ones(shape, "bool")
    with pytest.raises(ValueError, match=rf"`{name}`.*{name}.shape=\("):
        masks.for_attention(**{name: mask}, shape=(2, 3, 5))


def test_unknown_lengths_are_not_checked():
    mask = np.ones((2, 3, 5), "bool")
    visible = masks.for_attention(attention_mask=mask, shape=(None, None, None))
    assert visible.shape == (2, 3, 5)


@pytest.mark.parametrize(
    "shape, axis", [((2, 3, 5), 1), ((2, 4, 3, 5), 2)], ids=["output", "heads"]
)
def test_padded_queries_are_zero_and_the_others_untouched(shape, axis, rng):
    tensor = rng.normal(size=shape).astype("float16")
    query_mask = np.array([[True, False, True], [False, False, True]])
    hidden = masks.zero_padding(tensor, query_mask, axis=axis)
    assert hidden.dtype == "float16"
    hidden = np.moveaxis(np.array(hidden), axis, 1)
    tensor = np.moveaxis(tensor, axis, 1)
    np.testing.assert_array_equal(hidden[~query_mask], 0.0)
    np.testing.assert_array_equal(hidden[query_mask], tensor[query_mask])


def test_padded_pixels_are_hidden_along_both_their_axes(rng):
    tensor = rng.normal(size=(2, 3, 4, 5)).astype("float32")
    query_mask = rng.random((2, 3, 4)) < 0.5
    hidden = masks.zero_padding(tensor, query_mask)
    np.testing.assert_array_equal(hidden, tensor * query_mask[..., None])


def test_the_first_of_a_row_may_count_in_any_case():
    padding = np.array([[False, True, False], [True, True, False]])
    counted = masks.with_first(padding)
    assert counted.numpy().tolist() == [[True, True, False]] * 2
    assert masks.with_first(None) is None
    assert masks.with_first(padding[:, :0]).shape == (2, 0)


def test_without_a_query_mask_nothing_is_hidden(rng):
    tensor = rng.normal(size=(2, 3, 4))
    assert masks.zero_padding(tensor) is tensor


def test_a_query_mask_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"`query_mask`.*belongs in"):
        masks.zero_padding(np.ones((2, 3, 4)), np.ones((2, 4), "bool"))


def test_places_count_from_zero():
    places = masks.from_start(np.ones((2, 3, 4)))
    np.testing.assert_array_equal(places, [[0, 1, 2]])


@pytest.mark.parametrize("window", [0, -1, 1.5])
def test_a_window_that_shows_nothing_is_refused(window):
    with pytest.raises(ValueError, match=r"`window`.*at least 1"):
        masks.check_window(window)


@pytest.mark.parametrize(
    "causal, window, expected",
    [
        (True, None, [[1, 1, 0, 0], [1, 1, 1, 0]]),
        (False, 2, [[1, 1, 1, 0], [0, 1, 1, 1]]),
        (True, 2, [[1, 1, 0, 0], [0, 1, 1, 0]]),
    ],
    ids=["causal", "window", "causal_window"],
)
def test_who_sees_whom_goes_by_position(causal, window, expected):
    visible = masks.by_position(
        np.array([[1, 2]]), np.arange(4)[None], causal=causal, window=window
    )
    np.testing.assert_array_equal(visible, [expected])


def test_without_causality_or_window_everything_is_visible():
    places = np.arange(3)[None]
    assert masks.by_position(places, places, causal=False, window=None) is None


def test_segments_of_one_sequence_serve_queries_and_keys():
    segments = np.array([[1, 2]])
    for each in masks.segment_pair(segments):
        np.testing.assert_array_equal(each, segments)
    query, key = masks.segment_pair((segments, segments[:, :1]))
    assert (query.shape, key.shape) == ((1, 2), (1, 1))
    with pytest.raises(ValueError, match="a tuple of 3"):
        masks.segment_pair((segments,) * 3)


def test_a_position_sees_its_own_segment_only():
    segments = np.array([[1, 1, 2, 0], [5, 0, 0, 5]], "int32")
    visible = masks.by_segment(segments, segments)
    np.testing.assert_array_equal(
        visible,
        [
            [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]],
            [[1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 1]],
        ],
    )
    visible = masks.by_segment(segments[:1, 1:3], segments)
    np.testing.assert_array_equal(
        visible,
        [[[1, 1, 0, 0], [0, 0, 1, 0]], [[0, 0, 0, 0], [0, 0, 0, 0]]],
    )
