import keras
import numpy as np
import pytest

from keras_attn.models.sagan.conditional_normalization import (
    ConditionalNormalization,
)

CLASSES = np.array([2, 0, 2])


@pytest.fixture
def inputs(rng):
    return rng.normal(2, 3, size=(3, 4, 5, 6)).astype("float32")


def randomized(inputs, rng):
    layer = ConditionalNormalization(3, momentum=0.75)
    layer.build(inputs.shape, CLASSES.shape)
    for weight in layer.weights:
        weight.assign(rng.uniform(0.5, 1.5, size=weight.shape))
    return layer


def normalised(layer, x, mean, variance):
    scale, offset = (
        np.float64(table.embeddings)[CLASSES][:, None, None]
        for table in (layer.scale, layer.offset)
    )
    return scale * (x - mean) / np.sqrt(variance + 1e-5) + offset


def test_matches_the_equation(inputs, rng):
    layer = randomized(inputs, rng)
    norm = layer.normalization
    mean, variance = (
        np.float64(x) for x in (norm.moving_mean, norm.moving_variance)
    )
    x = np.float64(inputs)
    np.testing.assert_allclose(
        layer(inputs, CLASSES),
        normalised(layer, x, mean, variance),
        rtol=1e-4,
        atol=1e-4,
    )
    of_batch = x.mean(axis=(0, 1, 2)), x.var(axis=(0, 1, 2))
    np.testing.assert_allclose(
        layer(inputs, CLASSES, training=True),
        normalised(layer, x, *of_batch),
        rtol=1e-4,
        atol=1e-4,
    )
    np.testing.assert_allclose(
        norm.moving_mean, 0.75 * mean + 0.25 * of_batch[0], rtol=1e-4
    )


def test_classes_start_alike(inputs):
    layer = ConditionalNormalization(3)
    output = layer(inputs, CLASSES)
    np.testing.assert_allclose(output, inputs / np.sqrt(1 + 1e-5), rtol=1e-5)
    assert layer.count_params() == 2 * 3 * 6 + 2 * 6


def test_it_can_be_made_again(inputs):
    layer = ConditionalNormalization(3, momentum=0.5, dtype="mixed_bfloat16")
    assert layer(inputs, CLASSES).dtype == "bfloat16"
    twin = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(layer)
    )
    assert twin.get_config() == layer.get_config()
    assert twin.normalization.momentum == 0.5


def test_refuses_wrong_settings():
    with pytest.raises(ValueError, match="`num_classes` must be"):
        ConditionalNormalization(0)
    with pytest.raises(ValueError, match="`momentum` must be"):
        ConditionalNormalization(2, momentum=1.0)
