import numpy as np
import pytest
import tensorflow as tf

from keras_attn import modifiers
from keras_attn.ops.scores import Rules
from keras_attn.ops.scores import accumulation_dtype
from keras_attn.ops.scores import fold_groups
from keras_attn.ops.scores import grouped_matmul
from keras_attn.ops.scores import scaled
from keras_attn.ops.scores import tile_scores

BATCH, HEADS, QUERY, KEY, DEPTH = 2, 6, 3, 5, 4


@pytest.fixture
def tile(rng):
    """A tile of two key heads, shared by three query heads each."""
    return {
        "query": tf.constant(rng.normal(size=(BATCH, HEADS, QUERY, DEPTH))),
        "key": tf.constant(rng.normal(size=(BATCH, 2, KEY, DEPTH))),
        "query_positions": tf.range(2, 5)[None],
        "key_positions": tf.range(5)[None],
    }


def products(tile):
    """Query by key, without a scale."""
    key = tile["key"].numpy().repeat(3, axis=1)
    return np.einsum("bhqd,bhkd->bhqk", tile["query"].numpy(), key)


@pytest.mark.parametrize("kv_heads", [1, 2, 3, 6])
def test_neighbouring_heads_share_a_key_head(kv_heads, rng):
    query = rng.normal(size=(BATCH, HEADS, QUERY, DEPTH))
    key = rng.normal(size=(BATCH, kv_heads, KEY, DEPTH))
    scores = grouped_matmul(tf.constant(query), tf.constant(key))
    weights = rng.normal(size=(BATCH, HEADS, QUERY, KEY))
    output = grouped_matmul(
        tf.constant(weights), tf.constant(key), transpose_key=False
    )
    for head in range(HEADS):
        own = key[:, head // (HEADS // kv_heads)]
        np.testing.assert_allclose(
            scores[:, head], query[:, head] @ own.transpose(0, 2, 1)
        )
        np.testing.assert_allclose(output[:, head], weights[:, head] @ own)


def test_folding_lays_the_heads_of_a_group_end_to_end():
    x = np.arange(BATCH * HEADS * QUERY * DEPTH)
    x = x.reshape(BATCH, HEADS, QUERY, DEPTH)
    folded = fold_groups(tf.constant(x), 2).numpy()
    np.testing.assert_array_equal(
        folded[:, 1], np.concatenate([x[:, 3], x[:, 4], x[:, 5]], axis=1)
    )


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("float16", "float32"),
        ("bfloat16", "float32"),
        ("float32", "float32"),
        ("float64", "float64"),
    ],
)
def test_scores_are_kept_in_float32_or_better(given, kept, tile):
    assert accumulation_dtype(tf.as_dtype(given)) == kept
    rules = Rules(scale=1.0)
    tile["query"] = scaled(tf.cast(tile["query"], given), rules)
    tile["key"] = tf.cast(tile["key"], given)
    scores, _ = tile_scores(rules, **tile)
    assert scores.dtype == kept


def test_scores_are_scaled_products(tile):
    rules = Rules(scale=0.3)
    expected = 0.3 * products(tile)
    tile["query"] = scaled(tile["query"], rules)
    scores, visible = tile_scores(rules, **tile)
    np.testing.assert_allclose(scores, expected, rtol=1e-12)
    assert visible is None


def test_the_cap_comes_after_the_scale_and_before_the_bias(tile, rng):
    bias = rng.normal(size=(1, HEADS, 1, KEY))
    alibi = modifiers.ALiBi()
    alibi.build((None, None, HEADS, DEPTH), (None, None, 2, DEPTH))
    positions = tile["query_positions"], tile["key_positions"]
    expected = 0.5 * np.tanh(0.3 * products(tile) / 0.5)
    expected = expected + bias + alibi.bias((), *positions).numpy()
    cap = modifiers.SoftCap(0.5)
    tile["query"] = scaled(tile["query"], Rules(scale=0.3))
    for given in [(alibi, cap), (cap, alibi)]:
        rules = Rules(scale=0.3, modifiers=given)
        scores, _ = tile_scores(
            rules, **tile, bias=tf.constant(bias), parameters=((), ())
        )
        np.testing.assert_allclose(scores, expected, rtol=1e-6)


def test_a_key_is_visible_if_every_rule_allows_it(tile, rng):
    mask = rng.random((BATCH, 1, 1, KEY)) < 0.5
    real = np.array([True, True, True, True, False])[None, None, None]
    _, visible = tile_scores(
        Rules(scale=1.0, causal=True, window=3),
        **tile,
        mask=tf.constant(mask),
        real=tf.constant(real),
    )
    near = np.array([[1, 1, 1, 0, 0], [0, 1, 1, 1, 0], [0, 0, 1, 1, 1]], "bool")
    np.testing.assert_array_equal(visible, near & mask & real)


def test_sinks_are_found_among_the_modifiers():
    sinks = modifiers.Sinks()
    sinks.build((None, None, HEADS, DEPTH), (None, None, 2, DEPTH))
    sinks.scores.assign(np.arange(HEADS))
    rules = Rules(scale=1.0, modifiers=(modifiers.SoftCap(2.0), sinks))
    found = rules.sinks(((), sinks.parameters()))
    np.testing.assert_array_equal(found, np.arange(HEADS))
    rules = Rules(scale=1.0, modifiers=(modifiers.SoftCap(2.0),))
    assert rules.sinks(((),)) is None
