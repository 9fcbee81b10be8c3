import numpy as np
import pytest
import tensorflow as tf

from keras_attn.image.file_size import MAX_PIXELS
from keras_attn.image.file_size import check_pixels
from keras_attn.image.file_size import num_pixels
from tests.export.image_files import BAD
from tests.export.image_files import GOOD
from tests.export.image_files import of_size


@pytest.mark.parametrize(
    "name", ["jpeg", "png", "gif", "bmp", "bmp_from_top_to_bottom"]
)
def test_every_kind_of_file_says_how_large_it_is(name):
    file = tf.constant(GOOD[name])
    assert num_pixels(file) == 9 * 7
    assert check_pixels(file, 63) == file
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        check_pixels(file, 62)
    message = str(caught.value)
    assert "more pixels than `max_pixels`" in message
    assert "63" in message and "max_pixels=62" in message


@pytest.mark.parametrize("kind", ["jpeg", "png", "bmp"])
def test_numbers_that_no_file_has_do_not_overflow(kind):
    # The most that the format, or for JPEG the library, can say.
    side = {"jpeg": 65_500, "png": 2**31 - 1, "bmp": 2**31 - 1}[kind]
    assert num_pixels(of_size(kind, side)) == side**2 > MAX_PIXELS


@pytest.mark.parametrize("name", ["nothing", "another_kind", "no_image"])
def test_another_kind_of_file_is_told(name):
    assert num_pixels(BAD[name]) == 0
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="JPEG, PNG, GIF or BMP"
    ):
        check_pixels(BAD[name], 100)


def test_in_a_graph_the_file_waits_for_the_check():
    check = tf.function(lambda file: check_pixels(file, 100))
    assert check(tf.constant(GOOD["png"])) == GOOD["png"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="max_pixels"):
        check(tf.constant(of_size("png", 20_000)))
    np.testing.assert_array_less(100, num_pixels(of_size("png", 20_000)))
