import numpy as np
import pytest

from keras_attn.models.sagan.model import SAGAN
from tests.contract import check_model
from tests.models.sagan import small


@pytest.mark.slow
@pytest.mark.parametrize(
    "num_classes", [small.CLASSES, None], ids=["classes", "one_kind"]
)
def test_contract(num_classes, rng, tmp_path):
    inputs = {"noise": rng.normal(size=(2, 3)).astype("float32")}
    if num_classes is not None:
        inputs["class"] = np.array([2, 0])
    check_model(
        SAGAN,
        # Attention has a contract of its own, and no say while γ is 0.
        {
            **small.SIZES,
            "num_classes": num_classes,
            "attention_resolutions": [],
        },
        inputs,
        tmp_path=tmp_path,
        padded=(),  # noise has none
    )


def test_an_image_depends_on_its_seed_and_class_alone(rng):
    model = small.make(value_range=(-1.0, 3.0))
    for weight in model.average.weights:
        if "offset" in weight.path or "scale" in weight.path:
            weight.assign(rng.uniform(0.5, 1.5, weight.shape))
    seeds, classes = [5, 0, 5, 2**40], [1, 1, 2, 0]
    images = model.generate(seeds, classes)
    assert images.shape == (4, 32, 32, 1)
    assert np.min(images) >= -1 and np.max(images) <= 3
    for number in range(4):
        alone = model.generate([seeds[number]], [classes[number]])[0]
        np.testing.assert_allclose(images[number], alone, atol=1e-5)
    for one, other in ((0, 1), (0, 2)):
        assert np.abs(images[one] - images[other]).max() > 1e-3
    inputs = model.inputs_of(seeds, classes)
    np.testing.assert_allclose(model(inputs)["average"], images, atol=1e-5)
    np.testing.assert_allclose(
        model(inputs)["score"],
        model.discriminator(
            {"image": model(inputs)["image"], "class": inputs["class"]}
        ),
        rtol=1e-4,
        atol=1e-5,
    )


def test_attention_tells_where_each_position_looked():
    model = small.make(
        num_classes=None,
        generator_width=4,
        discriminator_width=8,
        attention_resolutions=(8, 16),
    )
    weights = model.attention([1, 2], resolution=16)
    assert weights.shape == (2, 16, 16, 8, 8)
    np.testing.assert_allclose(np.sum(weights, axis=(3, 4)), 1, rtol=1e-4)
    layer = model.average.get_layer("attention_8")
    layer.query_dense.layer.kernel.assign(0 * layer.query_dense.layer.kernel)
    even = model.attention([1, 2])
    np.testing.assert_allclose(
        even, np.full((2, 8, 8, 4, 4), 1 / 16), rtol=1e-5
    )
    with pytest.raises(ValueError, match=r"resolution=4.*attention_16"):
        model.attention([1], resolution=4)


def test_without_attention_there_are_no_weights():
    model = small.make(attention_resolutions=())
    with pytest.raises(ValueError, match="there is none"):
        model.attention([1], [0])


def test_refuses_wrong_settings():
    with pytest.raises(ValueError, match="power of two"):
        SAGAN(40)
    with pytest.raises(ValueError, match="`average_decay` must be"):
        small.make(average_decay=1.0)
    with pytest.raises(ValueError, match="`attention_resolutions` must be"):
        small.make(attention_resolutions=[32])
