import numpy as np
import pytest
import tensorflow as tf

from keras_attn.modifiers.rotary import Rotary


def built(depth, **settings):
    modifier = Rotary(**settings)
    modifier.build((None, None, 3, depth), (None, None, 1, depth))
    return modifier


@pytest.mark.parametrize("interleaved", [False, True])
def test_turns_each_pair_by_position_times_frequency(interleaved, rng):
    query = rng.normal(size=(2, 3, 5, 4))
    positions = np.array([[0, 1, 2], [7, 9, 4]])
    modifier = built(4, base=100.0, offset=6, interleaved=interleaved)
    turned = modifier.query_heads(tf.constant(query), tf.constant(positions))
    pairs = [(0, 1), (2, 3)] if interleaved else [(0, 2), (1, 3)]
    for (a, b), frequency in zip(pairs, [1.0, 0.1], strict=True):
        number = query[..., a] + 1j * query[..., b]
        number *= np.exp(1j * frequency * (positions + 6))[..., None]
        np.testing.assert_allclose(turned[..., a], number.real, rtol=1e-5)
        np.testing.assert_allclose(turned[..., b], number.imag, rtol=1e-5)


def slowed(frequency, *, factor, low, high, original_length):
    """Llama 3's frequencies, as its reference code parts them."""
    length = 2 * np.pi / frequency
    if length < original_length / high:
        return frequency
    if length > original_length / low:
        return frequency / factor
    smooth = (original_length / length - low) / (high - low)
    return (1 - smooth) * frequency / factor + smooth * frequency


def test_llama_lowers_the_frequencies_of_few_turns(rng):
    numbers = {"factor": 4.0, "low": 0.5, "high": 3.0, "original_length": 25}
    query = rng.normal(size=(1, 2, 3, 8))
    positions = np.array([[5, 9]])
    modifier = built(8, base=100.0, scaling={"kind": "llama3", **numbers})
    turned = modifier.query_heads(tf.constant(query), tf.constant(positions))
    old = 100.0 ** (-np.arange(4) / 4)
    new = [slowed(frequency, **numbers) for frequency in old]
    # All three ways are gone.
    assert new[0] == old[0]
    assert old[1] / 4 < new[1] < old[1]
    assert new[3] == old[3] / 4
    for pair, frequency in enumerate(new):
        number = query[..., pair] + 1j * query[..., pair + 4]
        number *= np.exp(1j * frequency * positions)[..., None]
        np.testing.assert_allclose(turned[..., pair], number.real, rtol=1e-5)


def test_linear_scaling_is_as_if_positions_were_nearer(rng):
    key = tf.constant(rng.normal(size=(1, 2, 1, 6)))
    near = built(6).key_heads(key, tf.constant([[1, 4]]))
    scaling = {"kind": "linear", "factor": 3.0}
    far = built(6, scaling=scaling).key_heads(key, tf.constant([[3, 12]]))
    np.testing.assert_allclose(far, near, rtol=1e-5)


@pytest.mark.parametrize(
    ("scaling", "message"),
    [
        ({"kind": "yarn", "factor": 2.0}, "kind and all its numbers.*yarn"),
        ({"kind": "linear"}, "kind and all its numbers.*linear"),
        ({"kind": "linear", "factor": 2.0, "low": 1.0}, "all its numbers"),
        ({"kind": "linear", "factor": 0.0}, "`factor` must be a number above"),
        (
            {
                "kind": "llama3",
                "factor": 2.0,
                "low": 4.0,
                "high": 4.0,
                "original_length": 8,
            },
            "`high` must be the greater",
        ),
    ],
    ids=["unknown", "too_few", "too_many", "no_factor", "no_range"],
)
def test_rejects_a_scaling_without_meaning(scaling, message):
    with pytest.raises(ValueError, match=message):
        Rotary(scaling=scaling)


def test_a_fraction_leaves_the_last_features_alone(rng):
    key = rng.normal(size=(1, 2, 1, 6)).astype("float32")
    turned = built(6, fraction=1 / 3).key_heads(
        tf.constant(key), tf.constant([[3, 4]])
    )
    np.testing.assert_array_equal(turned[..., 2:], key[..., 2:])
    assert np.all(turned[..., :2] != key[..., :2])


@pytest.mark.parametrize("interleaved", [False, True])
def test_only_the_distance_matters(interleaved, rng):
    query = tf.constant(rng.normal(size=(1, 1, 1, 6)))
    key = tf.constant(rng.normal(size=(1, 1, 1, 6)))
    modifier = built(6, interleaved=interleaved)

    def score(query_position, key_position):
        return tf.reduce_sum(
            modifier.query_heads(query, tf.constant([[query_position]]))
            * modifier.key_heads(key, tf.constant([[key_position]]))
        )

    np.testing.assert_allclose(score(5, 2), score(105, 102), rtol=1e-5)
    assert abs(score(5, 2) - score(5, 3)) > 1e-3


@pytest.mark.parametrize("interleaved", [False, True])
def test_works_without_known_lengths(interleaved, rng):
    query = rng.normal(size=(2, 3, 5, 4)).astype("float32")
    positions = np.arange(3, dtype="int32")[None]
    modifier = built(4, interleaved=interleaved)
    graph = tf.function(
        modifier.query_heads,
        input_signature=[
            tf.TensorSpec([None, None, 5, 4]),
            tf.TensorSpec([None, None], "int32"),
        ],
    )
    np.testing.assert_allclose(
        graph(query, positions),
        modifier.query_heads(tf.constant(query), tf.constant(positions)),
        rtol=1e-6,
    )


def test_half_precision_still_tells_far_neighbours_apart():
    modifier = built(2)
    query = tf.constant([[[[1.0, 0.0]], [[1.0, 0.0]]]], "bfloat16")
    turned = modifier.query_heads(query, tf.constant([[3000, 3001]]))
    assert turned.dtype == "bfloat16"
    np.testing.assert_allclose(
        tf.cast(turned[0, :, 0], "float32"),
        [[np.cos(p), np.sin(p)] for p in (3000, 3001)],
        atol=0.01,
    )


@pytest.mark.parametrize(("depth", "fraction"), [(5, 1.0), (6, 0.5), (4, 0.1)])
def test_rejects_a_depth_it_cannot_split(depth, fraction):
    with pytest.raises(ValueError, match=f"even whole.*depth={depth}"):
        built(depth, fraction=fraction)


@pytest.mark.parametrize(
    ("name", "given"), [("fraction", 0.0), ("fraction", 1.5), ("base", 0.0)]
)
def test_rejects_settings_without_meaning(name, given):
    with pytest.raises(ValueError, match=f"`{name}`.*Received.*{given}"):
        Rotary(**{name: given})
