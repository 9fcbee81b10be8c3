import keras
import numpy as np
import pytest

from keras_attn.models.small_cnn import small_cnn


def test_a_cell_is_eight_pixels_wide_and_sees_its_neighbours(rng):
    model = small_cnn((32, 40, 1))
    image = rng.normal(size=(2, 32, 40, 1)).astype("float32")
    grid = model(image)
    assert grid.shape == (2, 4, 5, 128)
    far = image.copy()
    far[:, :16] += 1  # two cells above the last row
    moved = np.any(np.array(model(far)) != np.array(grid), axis=(0, 2, 3))
    assert moved.tolist() == [True, True, True, False]
    assert not [
        layer
        for layer in model.layers
        if isinstance(layer, keras.layers.Conv2D) and layer.use_bias
    ]


@pytest.mark.parametrize("shape", [(32, 32), (7, 32, 1), (32, 32, 0)])
def test_what_is_no_image_is_refused(shape):
    with pytest.raises(ValueError, match="at least 8 pixels"):
        small_cnn(shape)
