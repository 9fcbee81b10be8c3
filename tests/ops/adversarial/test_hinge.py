import numpy as np

from keras_attn.ops.adversarial import hinge


def test_the_discriminator_wants_a_margin_on_both_sides():
    real, fake = np.array([2.0, 0.5, -1.0]), np.array([-3.0, 0.25])
    expected = (0 + 0.5 + 2) / 3 + (0 + 1.25) / 2
    np.testing.assert_allclose(
        hinge.discriminator_loss(real, fake), expected, rtol=1e-6
    )


def test_the_generator_wants_high_scores():
    np.testing.assert_allclose(hinge.generator_loss(np.array([1.0, 4.0])), -2.5)


def test_losses_are_float32_whatever_comes():
    scores = np.array([1.0, 2.0], "float16")
    assert hinge.generator_loss(scores).dtype == "float32"
    assert hinge.discriminator_loss(scores, scores).dtype == "float32"
