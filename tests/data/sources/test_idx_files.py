import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.sources.idx_files import idx
from tests.data.source_files import idx_bytes
from tests.data.source_files import pack

IMAGES = np.arange(3 * 4 * 5, dtype="uint8").reshape(3, 4, 5) + 190
LABELS = np.array([7, 0, 255], "uint8")


@pytest.fixture
def labels(tmp_path):
    return pack(tmp_path / "labels.gz", idx_bytes(LABELS))


def plain(path, content):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("write", [pack, plain])
def test_images_and_labels_are_read(tmp_path, labels, write):
    images = write(tmp_path / "images", idx_bytes(IMAGES))
    examples = idx(images, str(labels))
    assert examples.element_spec == {
        "image": tf.TensorSpec((4, 5, 1), "uint8"),
        "label": tf.TensorSpec((), "int32"),
    }
    read = list(examples.as_numpy_iterator())
    assert [example["label"] for example in read] == [7, 0, 255]
    for example, image in zip(read, IMAGES, strict=True):
        np.testing.assert_array_equal(example["image"][:, :, 0], image)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "starts with nothing"),
        (idx_bytes(LABELS), "starts with 00 00 08 01. Are images and labels"),
        (idx_bytes(IMAGES, kind=13), "00 00 0d 03"),
        (idx_bytes(IMAGES)[:15], "ends inside its header"),
        (idx_bytes(IMAGES)[:-1], r"\(3, 4, 5\), which is 60 bytes, and 59"),
        (idx_bytes(IMAGES) + b"x", "60 bytes, and 61 follow"),
    ],
)
def test_wrong_files_are_named(tmp_path, labels, content, complaint):
    path = plain(tmp_path / "wrong", content)
    with pytest.raises(ValueError, match=complaint) as caught:
        idx(path, labels)
    assert str(path) in str(caught.value)


def test_a_header_that_announces_more_than_memory_is_refused(tmp_path, labels):
    content = bytes([0, 0, 8, 3]) + b"\xff" * 12
    with pytest.raises(ValueError, match=f"{(2**32 - 1) ** 3} bytes, and 0"):
        idx(plain(tmp_path / "wrong", content), labels)


def test_different_numbers_of_images_and_labels_are_told(tmp_path, labels):
    images = plain(tmp_path / "images", idx_bytes(IMAGES[:2]))
    with pytest.raises(ValueError, match=r"2 images in .*, 3 labels in .*gz'"):
        idx(images, labels)
