import keras
import numpy as np
import pytest

from keras_attn.models.vit import images

WANTED = (None, 4, 6, 3)


@pytest.mark.parametrize(
    "inputs",
    [
        np.zeros((2, 4, 6, 3)),
        keras.KerasTensor((None, 4, None, 3)),
        [[[[0.0]]]],  # no tensor yet: Keras will say
    ],
)
def test_images_of_the_size_pass(inputs):
    images.check_size(inputs, WANTED)


@pytest.mark.parametrize(
    "shape", [(2, 4, 4, 3), (2, 6, 4, 3), (2, 4, 6, 1), (4, 6, 3)]
)
def test_others_are_told_the_size(shape):
    with pytest.raises(ValueError, match=r"\(4, 6, 3\).*resized\(") as error:
        images.check_size(np.zeros(shape), WANTED)
    assert f"Received: {shape}" in str(error.value)


def make_stem(*shape, pool=False):
    layers = [
        keras.Input(shape),
        keras.layers.Conv2D(5, 2, strides=2),
        *([keras.layers.GlobalAveragePooling2D()] if pool else []),
    ]
    return keras.Sequential(layers)


@pytest.mark.parametrize("side", [8, None])
def test_a_stem_makes_a_grid(side):
    grid = images.through_stem(make_stem(side, side, 3), keras.Input((8, 8, 3)))
    assert tuple(grid.shape) == (None, 4, 4, 5)


@pytest.mark.parametrize(
    ("stem", "message"),
    [
        (make_stem(8, 8, 1), r"of images of \(8, 8, 3\).*\(None, 8, 8, 1\)"),
        (make_stem(4, 4, 3), r"let height and width be None, or these"),
        (make_stem(8, 8, 3, pool=True), r"include_top=False.*\(None, 5\)"),
        (keras.layers.Conv2D(5, 2), "must be a functional model"),
        (keras.Sequential([keras.layers.Conv2D(5, 2)]), "with keras.Input"),
    ],
    ids=["channels", "size", "pooled", "layer", "unbuilt"],
)
def test_a_stem_that_does_not_is_refused(stem, message):
    with pytest.raises(ValueError, match=message):
        images.through_stem(stem, keras.Input((8, 8, 3)))
