import keras
import pytest

from keras_attn.models.vit.stem import through_stem


def make_stem(*shape, pool=False):
    layers = [
        keras.Input(shape),
        keras.layers.Conv2D(5, 2, strides=2),
        *([keras.layers.GlobalAveragePooling2D()] if pool else []),
    ]
    return keras.Sequential(layers)


@pytest.mark.parametrize("side", [8, None])
def test_a_stem_makes_a_grid(side):
    grid = through_stem(make_stem(side, side, 3), keras.Input((8, 8, 3)))
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
        through_stem(stem, keras.Input((8, 8, 3)))
