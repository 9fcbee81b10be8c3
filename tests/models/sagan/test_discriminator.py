import numpy as np
import pytest

from keras_attn.models.sagan.discriminator import make_discriminator
from tests.models.sagan import equations

RANGE = (-2.0, 3.0)


@pytest.mark.parametrize("num_classes", [None, 3], ids=["one_kind", "classes"])
def test_matches_the_equation(num_classes, rng):
    model = make_discriminator(
        32,
        channels=2,
        num_classes=num_classes,
        width=4,
        attention_resolutions=(8,),
        value_range=RANGE,
    )
    for weight in model.weights:
        weight.assign(rng.normal(size=weight.shape))
    inputs = {"image": rng.uniform(*RANGE, (2, 32, 32, 2)).astype("float32")}
    classes = None
    if num_classes:
        classes = inputs["class"] = np.array([2, 0])
    expected = equations.scored(model, inputs["image"], classes, (8,), RANGE)
    np.testing.assert_allclose(model(inputs), expected, rtol=1e-3)
    assert expected.shape == (2,)


def test_a_score_of_one_image_depends_on_no_other(rng):
    model = make_discriminator(32, channels=1, num_classes=None, width=4)
    images = rng.uniform(size=(3, 32, 32, 1)).astype("float32")
    together = model({"image": images}, training=True)
    model({"image": images})
    alone = [model({"image": images[i : i + 1]})[0] for i in range(3)]
    np.testing.assert_allclose(
        model({"image": images}), alone, rtol=1e-4, atol=1e-5
    )
    assert together.shape == (3,)
