import keras
import pytest

from keras_attn.models.grid_encoder import as_grid_encoder

SHAPE = (16, 24, 3)


def test_a_model_with_a_grid_is_taken_as_it_is():
    model = keras.Sequential([keras.Input(SHAPE), keras.layers.Conv2D(2, 1)])
    assert as_grid_encoder(model, None) is model


def test_without_one_it_is_a_small_one():
    model = as_grid_encoder(None, SHAPE, name="stem", dtype="mixed_bfloat16")
    assert model.name == "stem"
    assert model.output_shape == (None, 2, 3, 128)
    assert model.output.dtype == "bfloat16"


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (keras.layers.Conv2D(2, 1), "`stem` must be a functional model"),
        (
            keras.Sequential([keras.Input(SHAPE), keras.layers.Flatten()]),
            r"include_top=False.*output \(None, 1152\)",
        ),
        (
            keras.Sequential(
                [keras.Input((None, None, 3)), keras.layers.Conv2D(2, 1)]
            ),
            "of a known size",
        ),
        (None, "Give `stem`, or the `image_shape`"),
    ],
    ids=["layer", "vector", "unknown", "none"],
)
def test_what_has_no_grid_is_refused(given, complaint):
    with pytest.raises(ValueError, match=complaint):
        as_grid_encoder(given, None, name="stem")
