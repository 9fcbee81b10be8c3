import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.tasks.image_text import image_text
from keras_attn.text.word import WordTokenizer

TOKENIZER = WordTokenizer(["[PAD]", "[START]", "[END]", "[MASK]", "[UNK]", "a"])
BOXES = np.array([[0.0, 0.0, 0.5, 1.0], [0.0, 0.0, 0.0, 0.0]], "float32")


def pictures(**fields):
    return tf.data.Dataset.from_tensors(
        {
            "image": np.full((4, 4, 1), 51, "uint8"),
            "text": "a a",
            "region_classes": np.eye(4, 3),
            **fields,
        }
    )


def regions(**fields):
    return tf.data.Dataset.from_tensors(
        {
            "features": np.ones((2, 3), "float64"),
            "boxes": BOXES,
            "text": "a",
            "region_classes": np.eye(2, 3),
            **fields,
        }
    )


def test_a_text_and_its_image():
    ((inputs, labels),) = image_text(pictures(), TOKENIZER, size=4, channels=1)
    start, end = TOKENIZER.start_id, TOKENIZER.end_id
    assert inputs["tokens"].numpy().tolist() == [start, 5, 5, end]
    assert inputs["segments"].numpy().tolist() == [0] * 4
    np.testing.assert_allclose(inputs["image"], np.full((4, 4, 1), 0.2))
    assert labels["masked_lm"].numpy().tolist() == [start, 5, 5, end]
    np.testing.assert_array_equal(labels["masked_regions"], np.eye(4, 3))
    assert labels["alignment"] == 1


def test_regions_are_taken_as_they_are():
    ((inputs, _),) = image_text(regions(), TOKENIZER)
    np.testing.assert_array_equal(inputs["boxes"], BOXES)
    np.testing.assert_array_equal(inputs["features"], np.ones((2, 3)))
    assert inputs["features"].dtype == tf.float32


@pytest.mark.parametrize(
    "boxes",
    [
        np.zeros((2, 4), "float32"),
        np.array([[0, 0, 1.5, 1]] * 2, "float32"),
        np.array([[0, 0, 32, 16]] * 2, "float32"),
    ],
    ids=["no_region", "outside", "pixels"],
)
def test_boxes_that_are_not_in_the_image_are_an_error(boxes):
    message = "at least one region, and all within the image"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        list(image_text(regions(boxes=boxes), TOKENIZER))


@pytest.mark.parametrize("text", ["", "  "])
def test_a_text_that_says_nothing_is_an_error(text):
    message = "at least one token"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        list(image_text(regions(text=text), TOKENIZER))


@pytest.mark.parametrize(
    ("examples", "options", "message"),
    [
        (pictures(), {}, "Images need `size`"),
        (pictures(), {"size": 4, "colour": 1}, r"Received: \['colour'"),
        (regions(), {"size": 4}, "features and boxes take none"),
        (pictures(features=1, boxes=2), {"size": 4}, "and not both"),
        (pictures(text=["a", "b"]), {"size": 4}, "several is several"),
        (pictures(), {"size": 4, "value_range": (1, 0)}, "value_range"),
    ],
)
def test_what_does_not_go_together_is_refused(examples, options, message):
    with pytest.raises(ValueError, match=message):
        image_text(examples, TOKENIZER, **options)
