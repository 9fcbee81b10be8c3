import numpy as np
import pytest

from keras_attn.image.boxes import boxes_inside

GOOD = [0.1, 0.2, 0.5, 1.0]
PAD = [0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("boxes", "expected"),
    [
        ([GOOD, PAD], True),
        ([PAD, GOOD], True),
        ([[0, 0, 1, 1], GOOD], True),
        ([PAD, PAD], False),
        ([GOOD, [-0.1, 0, 0.5, 0.5]], False),
        ([GOOD, [0, 0, 1.1, 0.5]], False),
        ([GOOD, [0, 0.5, 1, 0.5]], False),
        ([GOOD, [0.5, 0, 0.2, 0.5]], False),
        ([GOOD, [0, 0, np.nan, 0.5]], False),
        ([GOOD, [0, 0, np.inf, 0.5]], False),
        ([GOOD, [10, 10, 200, 100]], False),
    ],
)
def test_boxes_are_in_their_image_or_padding(boxes, expected):
    assert boxes_inside(np.array(boxes, "float32")).numpy() == expected


def test_images_are_told_apart():
    batch = np.array([[GOOD, PAD], [PAD, PAD]], "float32")
    assert boxes_inside(batch).numpy().tolist() == [True, False]
    assert boxes_inside(np.zeros((2, 0, 4))).numpy().tolist() == [False, False]
