import numpy as np
import pytest

from keras_attn.plot.pictures import as_picture
from keras_attn.plot.pictures import as_pictures


@pytest.mark.parametrize(
    ("shape", "drawn"),
    [((4, 5), (4, 5)), ((4, 5, 1), (4, 5)), ((4, 5, 3), (4, 5, 3))],
)
def test_bytes_and_shares_of_one_are_the_same_picture(shape, drawn, rng):
    pixels = rng.integers(256, size=shape, dtype="uint8")
    picture = as_picture(pixels)
    assert picture.shape == drawn
    np.testing.assert_allclose(picture, pixels.reshape(drawn) / 255)
    np.testing.assert_allclose(as_picture(pixels / 255), picture)
    np.testing.assert_allclose(as_pictures(pixels[None]), picture[None])


def test_a_row_of_one_pixel_is_not_a_channel():
    assert as_picture(np.zeros((4, 1))).shape == (4, 1)
    assert as_pictures(np.zeros((2, 4, 1))).shape == (2, 4, 1)


def test_says_what_it_takes():
    with pytest.raises(ValueError, match=r"\(height, width\).*image\[0"):
        as_picture(np.zeros((2, 4, 5, 3)))
    with pytest.raises(ValueError, match="One needs a batch too"):
        as_pictures(np.zeros((4, 5)))
