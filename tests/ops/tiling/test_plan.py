import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.scores import Rules
from keras_attn.ops.scores import scaled
from keras_attn.ops.softmax import EXCLUDED
from keras_attn.ops.tiling.plan import Plan


@pytest.fixture
def heads(rng):
    query = tf.constant(rng.normal(size=(2, 5, 4, 3)), tf.float32)
    key = tf.constant(rng.normal(size=(2, 7, 4, 3)), tf.float32)
    return query, key


def make(
    heads, *, rules=None, mask=None, segments=None, dropout=0.0, tile=(3, 3)
):
    query, key = heads
    return Plan(
        rules or Rules(scale=0.5),
        query,
        key,
        tf.range(5)[None],
        tf.range(7)[None],
        mask=mask,
        segments=segments,
        dropout=dropout,
        seed=tf.constant([1, 2]),
        tile=tile,
    )


def tile_of(plan, heads, row, column):
    queries = plan.split_queries(scaled(heads[0], plan.rules))
    keys = plan.split_keys(heads[1])
    return plan.scores(
        row, column, queries[row], keys[column], None, ()
    ).numpy()


def test_a_tile_scores_its_queries_against_its_keys(heads):
    scores = tile_of(make(heads), heads, 1, 1)
    query, key = (x.numpy() for x in heads)
    expected = 0.5 * np.einsum("bqhd,bkhd->bhqk", query[:, 3:5], key[:, 3:6])
    np.testing.assert_allclose(scores[:, :, :2], expected, rtol=1e-5, atol=1e-6)


def test_keys_that_fill_up_a_tile_are_hidden(heads):
    scores = tile_of(make(heads), heads, 0, 2)
    assert (scores[..., 0] > -100).all()
    np.testing.assert_allclose(scores[..., 1:], EXCLUDED)


def test_a_tile_hides_the_keys_of_other_segments(heads):
    of_query = tf.constant([[1, 1, 1, 2, 0]])
    of_key = tf.constant([[1, 1, 1, 1, 2, 0, 2]])
    plan = make(heads, segments=(of_query, of_key))
    scores = tile_of(plan, heads, 1, 1)  # queries 3 and 4, keys 3 to 5
    seen = np.broadcast_to([[0, 1, 0], [0, 0, 0]], (2, 4, 2, 3))
    np.testing.assert_array_equal(scores[:, :, :2] > -100, seen)


def test_nothing_is_hidden_where_the_tiles_fit(heads):
    plan = make(heads, tile=(3, 7))
    assert plan.real is None
    assert (tile_of(plan, heads, 0, 0) > -100).all()


def test_the_mask_and_the_future_are_hidden(heads):
    mask = tf.constant(np.arange(7) != 4)[None, None, None]
    plan = make(heads, rules=Rules(scale=0.5, causal=True), mask=mask)
    hidden = tile_of(plan, heads, 1, 1) < -100
    # Queries 3, 4 and one of padding, at 4, against keys 3, 4 and 5.
    wanted = [[False, True, True]] * 3
    np.testing.assert_array_equal(hidden, np.broadcast_to(wanted, (2, 4, 3, 3)))


def test_a_tile_drops_the_same_weights_again_and_others_than_its_neighbour(
    heads,
):
    plan = make(heads, dropout=0.5)
    ones = tf.ones((2, 4, 30, 30))
    first = plan.drop(ones, 0, 1).numpy()
    np.testing.assert_array_equal(plan.drop(ones, 0, 1), first)
    assert (plan.drop(ones, 1, 0).numpy() != first).mean() > 0.3
    assert (plan.drop(ones, 0, 2).numpy() != first).mean() > 0.3


def test_without_dropout_nothing_is_dropped(heads):
    ones = tf.ones((1, 1, 2, 2))
    assert make(heads).drop(ones, 0, 0) is ones
