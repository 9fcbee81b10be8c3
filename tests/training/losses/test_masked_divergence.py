import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.losses.masked_divergence import MaskedDivergence

BATCH, REGIONS, CLASSES = 2, 3, 4


@pytest.fixture
def target(rng):
    """Distributions, of which one is certain; two regions have none."""
    target = rng.dirichlet(np.ones(CLASSES), size=(BATCH, REGIONS))
    target[0, 1] = [0, 1, 0, 0]
    target[0, 2] = target[1, 0] = 0
    return target


@pytest.fixture
def logits(rng):
    return 3 * rng.normal(size=(BATCH, REGIONS, CLASSES))


def divergences(target, logits):
    """One region after the other, in float64."""
    losses = np.zeros((BATCH, REGIONS))
    for place in np.ndindex(BATCH, REGIONS):
        p, z = target[place], logits[place]
        q = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
        losses[place] = sum(
            a * np.log(a / b) for a, b in zip(p, q, strict=True) if a > 0
        )
    return losses


def test_matches_the_equation(target, logits, rng):
    real = target.any(-1)
    losses = divergences(target, logits)
    loss = MaskedDivergence()(target, logits)
    np.testing.assert_allclose(loss, losses[real].mean(), rtol=1e-12)
    for weights in (rng.random(BATCH), rng.random((BATCH, REGIONS))):
        each = np.broadcast_to(weights.reshape(BATCH, -1), real.shape)
        np.testing.assert_allclose(
            MaskedDivergence()(target, logits, weights),
            (each * losses)[real].sum() / each[real].sum(),
            rtol=1e-12,
        )
    np.testing.assert_allclose(
        MaskedDivergence().call(target, logits), losses, atol=1e-12
    )


@pytest.mark.parametrize("jit_compile", [False, True])
def test_its_gradient_is_the_difference_of_classes(jit_compile, target, logits):
    @tf.function(jit_compile=jit_compile)
    def gradient(logits):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            loss = MaskedDivergence()(target, logits)
        return tape.gradient(loss, logits)

    real = target.any(-1)
    spoilt = np.where(real[..., None], logits, np.nan)
    found = gradient(tf.constant(spoilt)).numpy()
    guess = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    expected = np.where(real[..., None], guess - target, 0) / real.sum()
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_nothing_to_learn_costs_nothing(target, logits):
    assert MaskedDivergence()(np.zeros_like(target), logits) == 0
    same = np.log(target[:1, :1])
    np.testing.assert_allclose(
        MaskedDivergence()(target[:1, :1], same), 0, atol=1e-12
    )


def test_half_precision_is_computed_in_single(target, logits):
    halves = (20 * logits).astype("float16")
    loss = MaskedDivergence()(target, halves)
    assert loss.dtype == "float32"
    losses = divergences(target, halves.astype("float64"))
    np.testing.assert_allclose(loss, losses[target.any(-1)].mean(), rtol=1e-4)


def test_comes_back_from_its_config():
    loss = MaskedDivergence(name="regions")
    config = keras.losses.serialize(loss)
    assert keras.losses.deserialize(config).name == "regions"


def test_refuses_targets_of_another_shape(target, logits):
    with pytest.raises(ValueError, match=r"same shape.*\(2, 3\)"):
        MaskedDivergence()(target[..., 0], logits)
