import numpy as np
import pytest
import tensorflow as tf

from keras_attn import ops
from keras_attn.layers import EncoderBlock
from keras_attn.ops.explain.rollout import over_patches


@pytest.fixture
def weights(rng):
    """(layers, batch, heads, query, key), as after a softmax."""
    weights = rng.uniform(size=(3, 2, 4, 5, 5))
    return weights / weights.sum(axis=-1, keepdims=True)


def by_the_paper(weights):
    """Section 3: A = 0.5 W + 0.5 I, renormalised; Ã(l) = A(l) Ã(l - 1)."""
    rolled = []
    for example in np.moveaxis(np.asarray(weights, "float64"), 1, 0):
        so_far = None
        for heads in example:
            mean = sum(heads) / len(heads)
            raw = 0.5 * mean + 0.5 * np.identity(len(mean))
            raw = np.array([row / sum(row) for row in raw])
            so_far = raw if so_far is None else np.dot(raw, so_far)
        rolled.append(so_far)
    return np.array(rolled)


def test_matches_the_equation(weights):
    rolled = ops.rollout(weights)
    assert rolled.dtype == "float64"
    np.testing.assert_allclose(rolled, by_the_paper(weights), rtol=1e-12)
    np.testing.assert_allclose(np.sum(rolled, axis=-1), 1, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_half_precision_is_rolled_out_in_float32(weights, dtype):
    layers = [tf.cast(layer, dtype) for layer in weights]
    rolled = ops.rollout(layers)
    assert rolled.dtype == "float32"
    rounded = [tf.cast(layer, "float64") for layer in layers]
    np.testing.assert_allclose(rolled, by_the_paper(rounded), atol=1e-6)


@pytest.mark.parametrize("length", [5, None])
def test_it_compiles_where_lengths_are_known_and_runs_where_not(
    weights, length
):
    spec = tf.TensorSpec((None, 4, length, length), tf.float64)
    function = tf.function(
        lambda *layers: ops.rollout(layers),
        input_signature=[spec] * 3,
        jit_compile=length is not None,
    )
    rolled = function(*weights)
    np.testing.assert_allclose(rolled, by_the_paper(weights), rtol=1e-12)


def test_what_attends_to_nothing_keeps_what_it_is(weights):
    weights[..., 3:, :] = weights[..., 3:] = 0  # two pads
    rolled = ops.rollout(weights)
    np.testing.assert_allclose(rolled, by_the_paper(weights), rtol=1e-12)
    np.testing.assert_array_equal(rolled[:, 3:, 3:], [np.identity(2)] * 2)
    assert not np.any(rolled[:, :3, 3:])


def test_weights_of_our_blocks_are_rolled_out(rng):
    x = rng.normal(size=(2, 5, 6)).astype("float32")
    weights = []
    for heads in (2, 3):
        x, attended = EncoderBlock(heads, 7)(x, return_attention_scores=True)
        weights.append(attended)
    one, two = (np.asarray(each, "float64").mean(axis=1) for each in weights)
    expected = (two + np.identity(5)) @ (one + np.identity(5)) / 4
    np.testing.assert_allclose(ops.rollout(weights), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (6, lambda rolled: rolled.mean(axis=1)),
        (7, lambda rolled: rolled[:, 0, 1:]),
        (8, lambda rolled: rolled[:, 0, 2:]),
    ],
    ids=["no class token", "one", "and one to distil into"],
)
def test_the_class_token_or_the_mean_is_laid_over_the_patches(
    rng, length, expected
):
    rolled = rng.uniform(size=(5, length, length))
    over = over_patches(tf.constant(rolled), (2, 3))
    wanted = expected(rolled).reshape(5, 2, 3)
    np.testing.assert_allclose(over, wanted, rtol=1e-12)


def test_a_model_may_say_how_it_pools(rng):
    rolled = rng.uniform(size=(5, 7, 7))
    pooling = rng.uniform(size=(5, 7))
    over = over_patches(tf.constant(rolled), (2, 3), pooling)
    for number in range(5):
        wanted = (pooling[number] @ rolled[number])[1:].reshape(2, 3)
        np.testing.assert_allclose(over[number], wanted, rtol=1e-12)


def test_more_patches_than_positions_are_refused():
    with pytest.raises(ValueError, match=r"grid=\(2, 4\), 7 positions"):
        over_patches(tf.ones((1, 7, 7)), (2, 4))


@pytest.mark.parametrize(
    ("shapes", "complaint"),
    [
        ([], "Received: shapes \\[\\]"),
        ([(4, 5, 5)], r"\(4, 5, 5\)\]. Of one example, add the batch"),
        ([(2, 4, 5, 6)], "as many keys as queries"),
        ([(2, 4, 5, 5), (2, 4, 6, 6)], "the same batch and length"),
        ([(2, 4, 5, 5), (3, 4, 5, 5)], "the same batch and length"),
        ([(2, 4, 5, 5), (4, 5, 5)], "the same batch and length"),
    ],
)
def test_what_is_no_self_attention_is_refused(shapes, complaint):
    with pytest.raises(ValueError, match=complaint):
        ops.rollout([np.ones(shape) for shape in shapes])
