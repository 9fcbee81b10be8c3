import numpy as np
import pytest

from keras_attn.models.sagan.generator import make_generator
from tests.models.sagan import equations

RANGE = (-2.0, 3.0)


def scrambled(model, rng):
    """Weights of their own for every part, and positive variances."""
    for weight in model.weights:
        numbers = rng.normal(size=weight.shape)
        weight.assign(1 + numbers**2 if "variance" in weight.path else numbers)
    return model


@pytest.mark.parametrize("num_classes", [None, 3], ids=["one_kind", "classes"])
def test_matches_the_equation(num_classes, rng):
    model = make_generator(
        32,
        channels=2,
        num_classes=num_classes,
        noise_dim=5,
        width=4,
        attention_resolutions=(8, 16),
        value_range=RANGE,
    )
    scrambled(model, rng)
    inputs = {"noise": rng.normal(size=(2, 5)).astype("float32")}
    classes = None
    if num_classes:
        classes = inputs["class"] = np.array([2, 0])
    expected = equations.generated(
        model, inputs["noise"], classes, 32, (8, 16), RANGE
    )
    np.testing.assert_allclose(model(inputs), expected, rtol=1e-3, atol=1e-4)
    assert expected.std() > 0.05


def test_what_is_made_of_a_class_differs_once_it_has_learnt(rng):
    model = make_generator(32, channels=1, num_classes=2, noise_dim=3, width=2)
    noise = np.repeat(rng.normal(size=(1, 3)), 2, axis=0)
    inputs = {"noise": noise, "class": np.array([0, 1])}
    one, other = np.float32(model(inputs))
    np.testing.assert_array_equal(one, other)
    scrambled(model, rng)
    one, other = np.float32(model(inputs))
    assert np.abs(one - other).max() > 0.01
