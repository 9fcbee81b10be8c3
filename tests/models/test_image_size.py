import keras
import numpy as np
import pytest

from keras_attn.models.image_size import check_image_size

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
    check_image_size(inputs, WANTED, "Resize.")


@pytest.mark.parametrize(
    "shape", [(2, 4, 4, 3), (2, 6, 4, 3), (2, 4, 6, 1), (4, 6, 3)]
)
def test_others_are_told_the_size(shape):
    with pytest.raises(ValueError, match=r"\(4, 6, 3\).* Resize\.") as error:
        check_image_size(np.zeros(shape), WANTED, "Resize.")
    assert f"Received: {shape}" in str(error.value)
