import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.tasks import captioning
from keras_attn.data.tasks import image_classification
from keras_attn.export.graph import encoded_images
from keras_attn.export.graph.encoded_images import EncodedImages
from keras_attn.image.decode import decode_image
from keras_attn.image.preprocessing import Preprocessing
from keras_attn.image.value_range import to_value_range
from tests.export.image_files import BAD
from tests.export.image_files import GOOD
from tests.export.image_files import MAX_PIXELS
from tests.export.image_files import bomb


def test_training_and_serving_decode_by_the_same_function():
    for user in (image_classification, captioning, encoded_images):
        assert user.decode_image is decode_image
        assert user.to_value_range is to_value_range


@pytest.mark.parametrize("fit", ["crop", "squeeze"])
@pytest.mark.parametrize("channels", [1, 3])
def test_pixels_are_those_of_the_training_pipeline(channels, fit):
    files = list(GOOD.values())
    read = EncodedImages((6, 5), channels, fit=fit)(tf.constant(files))
    assert read["valid"].numpy().all()
    for file, image in zip(files, read["images"], strict=True):
        expected = decode_image(file, (6, 5), channels, fit=fit)
        np.testing.assert_array_equal(image, expected)


def test_a_bad_file_fails_no_other():
    files = [*BAD.values(), GOOD["png"], *BAD.values()]
    images = EncodedImages((6, 5), 3, max_pixels=MAX_PIXELS)
    read = images(tf.constant(files))
    assert np.flatnonzero(read["valid"]).tolist() == [len(BAD)]
    (alone,) = images(tf.constant([GOOD["png"]]))["images"]
    np.testing.assert_array_equal(read["images"][len(BAD)], alone)
    assert not np.any(read["images"][0])


def test_each_bad_file_is_flagged():
    images = EncodedImages((6, 5), 3, max_pixels=MAX_PIXELS)
    # Traced once for all.
    spec = tf.TensorSpec([None], tf.string)
    images = tf.function(images.__call__, input_signature=[spec])
    read = {name: images(tf.constant([BAD[name]])) for name in BAD}
    assert not {name for name in BAD if read[name]["valid"].numpy().any()}
    for answer in read.values():
        assert answer["images"].shape == (1, 6, 5, 3)


def test_what_is_called_a_bomb_would_be_read_otherwise():
    read = EncodedImages((6, 5), 1)(tf.constant([bomb(300)]))
    assert read["valid"].numpy().tolist() == [True]


def test_a_batch_without_rows_can_be_read():
    read = EncodedImages((6, 5), 3)(tf.zeros([0], tf.string))
    assert read["images"].shape == (0, 6, 5, 3)
    assert read["valid"].shape == (0,)


def test_pixels_have_the_range_that_is_asked_for():
    file = tf.constant([GOOD["png"]])
    unit = EncodedImages((6, 5), 3)(file)["images"]
    for lowest, highest in ((0, 255), (-1, 1)):
        read = EncodedImages((6, 5), 3, value_range=(lowest, highest))(file)
        expected = lowest + (highest - lowest) * unit
        np.testing.assert_allclose(read["images"], expected, rtol=1e-6)


def test_pixels_are_what_a_published_model_wants():
    wanted = Preprocessing(8, crop=(6, 5), mean=(0.5,), std=(0.25,))
    images = EncodedImages((6, 5), 3, preprocessing=wanted)
    read = images(tf.constant([GOOD["wide"], BAD["no_image"], GOOD["png"]]))
    assert read["valid"].numpy().tolist() == [True, False, True]
    for row, name in ((0, "wide"), (2, "png")):
        expected = wanted(GOOD[name])
        np.testing.assert_array_equal(read["images"][row], expected)
    assert not np.any(read["images"][1])


def test_a_file_that_is_too_large_is_not_preprocessed():
    images = EncodedImages(
        (6, 5), 3, preprocessing=Preprocessing((6, 5)), max_pixels=62
    )
    # 9 × 7 pixels are one more.
    assert not images(tf.constant([GOOD["png"]]))["valid"].numpy().any()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"channels": 4}, "one of .1, 3.. Received: channels=4"),
        ({"fit": "stretch"}, "'stretch'"),
        ({"value_range": (1, 0)}, r"Received: \(1, 0\)"),
        (
            {"preprocessing": Preprocessing((5, 6))},
            r"makes images of \(5, 6\), and the model takes \(6, 5\)",
        ),
        (
            {"preprocessing": Preprocessing((6, 5)), "fit": "squeeze"},
            "leave `fit` and `value_range` out",
        ),
        (
            {"preprocessing": Preprocessing((6, 5)), "value_range": (-1, 1)},
            "leave `fit` and `value_range` out",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(settings, complaint):
    settings = {"channels": 3, **settings}
    with pytest.raises(ValueError, match=complaint):
        EncodedImages((6, 5), **settings)
