import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.dropout import seeded_dropout

BATCH, QUERY, KEY, HEADS = 60, 5, 7, 4


def dropped_weights(attend, seed, rate=0.3, batch=BATCH):
    """Read off the weights: value k is the k-th unit vector."""
    rng = np.random.default_rng(0)
    query = rng.normal(size=(1, QUERY, HEADS, 3)).repeat(batch, axis=0)
    key = rng.normal(size=(1, KEY, 2, 3)).repeat(batch, axis=0)
    value = np.zeros((batch, KEY, 2, KEY)) + np.eye(KEY)[:, None]
    output = attend(query, key, value, dropout=rate, seed=seed)
    return output.numpy()  # (batch, query, heads, key)


def test_the_rest_is_scaled_up():
    weights = tf.constant([[0.1, 0.2, 0.3, 0.4]] * 50)
    dropped = seeded_dropout(weights, 0.2, [1, 2]).numpy()
    kept = dropped != 0
    assert 0 < kept.mean() < 1
    np.testing.assert_allclose(dropped[kept], (weights.numpy() / 0.8)[kept])


def test_the_same_seed_drops_the_same():
    weights = tf.ones((3, 50))
    once = seeded_dropout(weights, 0.5, [1, 2])
    np.testing.assert_array_equal(once, seeded_dropout(weights, 0.5, [1, 2]))
    assert np.any(once != seeded_dropout(weights, 0.5, [1, 3]))


def test_weights_are_either_dropped_or_scaled_up(attend):
    plain = dropped_weights(attend, None, rate=0.0)
    dropped = dropped_weights(attend, 7)
    kept = dropped != 0
    np.testing.assert_allclose(dropped[kept], plain[kept] / 0.7, rtol=1e-9)
    # Five standard deviations of so many throws of a coin.
    tolerance = 5 * np.sqrt(0.3 * 0.7 / kept.size)
    assert abs(kept.mean() - 0.7) < tolerance


def test_every_place_is_dropped_as_often_as_any_other(attend):
    kept = (dropped_weights(attend, 7, batch=400) != 0).mean(axis=0)
    tolerance = 5 * np.sqrt(0.3 * 0.7 / 400)
    np.testing.assert_allclose(kept, np.full(kept.shape, 0.7), atol=tolerance)


def test_no_two_tiles_or_heads_drop_the_same(attend):
    kept = dropped_weights(attend, 7) != 0  # (batch, query, heads, key)
    places = kept.reshape(BATCH, -1).T
    assert len(np.unique(places, axis=0)) == len(places)


def test_the_mean_over_masks_is_the_plain_output(attend):
    plain = dropped_weights(attend, None, rate=0.0)
    mean = np.mean(
        [dropped_weights(attend, seed, batch=200) for seed in range(5)],
        axis=(0, 1),
    )
    # Of 1000 masks; one weight deviates by √(0.3 / 0.7) times itself.
    np.testing.assert_allclose(
        mean, plain[0], atol=5 * np.sqrt(0.3 / 0.7 / 1000) * plain[0].max()
    )


@pytest.mark.parametrize(
    "make_seed",
    [
        lambda seed: seed,
        lambda seed: np.array([seed, 5]),
        lambda seed: tf.constant([seed, 5], "int64"),
        lambda seed: keras.random.SeedGenerator(seed),
    ],
    ids=["integer", "pair", "tensor", "generator"],
)
def test_the_same_seed_gives_the_same_output(attend, make_seed):
    once = dropped_weights(attend, make_seed(3), batch=2)
    np.testing.assert_array_equal(
        once, dropped_weights(attend, make_seed(3), batch=2)
    )
    assert np.any(once != dropped_weights(attend, make_seed(4), batch=2))


def test_a_generator_gives_another_mask_each_time(attend):
    generator = keras.random.SeedGenerator(3)
    once = dropped_weights(attend, generator, batch=2)
    assert np.any(once != dropped_weights(attend, generator, batch=2))


def test_a_generator_works_in_a_graph(attend):
    generator = keras.random.SeedGenerator(3)

    @tf.function
    def run(heads):
        return attend(heads, heads, heads, dropout=0.5, seed=generator)

    heads = tf.random.stateless_normal((2, QUERY, HEADS, 3), [1, 2])
    assert np.any(run(heads) != run(heads))


@pytest.mark.parametrize("seed", [3, None])
def test_no_generator_is_needed_in_a_graph(attend, seed):
    @tf.function
    def run(heads):
        return attend(heads, heads, heads, dropout=0.5, seed=seed)

    heads = tf.random.stateless_normal((2, QUERY, HEADS, 3), [1, 2])
    same = np.all(run(heads) == run(heads))
    assert same == (seed is not None)


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_the_backward_pass_drops_what_the_forward_pass_dropped(
    attend, jit_compile, rng
):
    query = rng.normal(size=(2, QUERY, HEADS, 3))
    key = rng.normal(size=(2, KEY, 2, 3))
    value = tf.constant(np.zeros((2, KEY, 2, KEY)) + np.eye(KEY)[:, None])
    cotangent = rng.normal(size=(2, QUERY, HEADS, KEY))

    @tf.function(autograph=False, jit_compile=jit_compile)
    def differentiate(value):
        with tf.GradientTape() as tape:
            tape.watch(value)
            weights = attend(query, key, value, dropout=0.4, seed=[9, 2])
            loss = tf.reduce_sum(weights * cotangent)
        return weights, tape.gradient(loss, value)

    # The output is linear in the value, with the dropped weights as factors.
    weights, slope = (x.numpy() for x in differentiate(value))
    assert 0.3 < np.mean(weights == 0) < 0.5
    expected = np.zeros(value.shape)
    for head in range(HEADS):
        expected[:, :, head // 2] += np.einsum(
            "bqk,bqd->bkd", weights[:, :, head], cotangent[:, :, head]
        )
    np.testing.assert_allclose(slope, expected, rtol=1e-9, atol=1e-12)


def test_the_gradients_go_through_the_weights_that_are_left(attend, rng):
    heads = {
        "query": tf.constant(rng.normal(size=(2, QUERY, HEADS, 3))),
        "key": tf.constant(rng.normal(size=(2, KEY, 2, 3))),
    }
    value = rng.normal(size=(2, KEY, 2, 3))
    cotangent = rng.normal(size=(2, QUERY, HEADS, 3))

    def loss_of(heads):
        output = attend(**heads, value=value, causal=True, dropout=0.4, seed=9)
        return tf.reduce_sum(output * cotangent)

    with tf.GradientTape() as tape:
        tape.watch(heads)
        loss = loss_of(heads)
    slopes = tape.gradient(loss, heads)
    for name, slope in slopes.items():
        direction = rng.normal(size=slope.shape)
        up, down = (
            loss_of({**heads, name: heads[name] + step * direction})
            for step in (1e-5, -1e-5)
        )
        np.testing.assert_allclose(
            np.sum(slope * direction), (up - down) / 2e-5, rtol=1e-6
        )
