import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_attn.image.resample import METHODS
from keras_attn.image.resample import resample

PILLOW = {
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos3": Image.Resampling.LANCZOS,
}
SIZES = {
    "smaller": ((37, 53), (24, 16)),
    "larger": ((9, 7), (16, 22)),
    "one of both": ((13, 40), (20, 11)),
    "many to one": ((100, 90), (8, 6)),
    "one pixel": ((1, 1), (3, 4)),
}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("method", METHODS)
def test_levels_are_those_of_pillow(method, name, rng):
    size, new = SIZES[name]
    image = rng.integers(0, 256, (*size, 3), dtype="uint8")
    expected = Image.fromarray(image).resize(new[::-1], PILLOW[method])
    levels = tf.cast(image, tf.float32)
    found = resample(levels, new, method).numpy()
    off = np.abs(found - np.asarray(expected, "float32"))
    # Where an exact half is rounded, in noise; a photograph has fewer.
    assert off.max() <= 1 and np.mean(off > 0) < 0.02


def test_an_image_of_that_size_stays_as_it_is(rng):
    image = rng.integers(0, 256, (5, 7, 3)).astype("float32")
    for method in METHODS:
        np.testing.assert_array_equal(resample(image, (5, 7), method), image)


def test_sizes_may_be_known_only_in_the_graph(rng):
    image = rng.integers(0, 256, (5, 7, 3)).astype("float32")
    run = tf.function(
        lambda image, size: resample(image, tf.unstack(size), "bicubic"),
        input_signature=[
            tf.TensorSpec([None, None, 3]),
            tf.TensorSpec([2], tf.int32),
        ],
    )
    np.testing.assert_array_equal(
        run(image, [4, 9]), resample(image, (4, 9), "bicubic")
    )


def test_another_method_is_refused():
    with pytest.raises(ValueError, match="'nearest'"):
        resample(np.zeros((2, 2, 3), "float32"), (1, 1), "nearest")
