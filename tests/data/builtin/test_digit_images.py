import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from keras_attn.data.builtin.digit_images import digits

SIZES = {"train": 1297, "validation": 200, "test": 300}


def arrays(split):
    ((batch),) = digits(split).batch(2000).as_numpy_iterator()
    return batch["image"], batch["label"]


@pytest.mark.parametrize("split", SIZES)
def test_shapes_and_sizes_are_known_at_once(split):
    dataset = digits(split)
    assert dataset.element_spec["image"].shape == (8, 8, 1)
    assert dataset.element_spec["image"].dtype == "uint8"
    assert dataset.element_spec["label"].shape == ()
    assert dataset.element_spec["label"].dtype == "int32"
    assert len(dataset) == SIZES[split]


def test_held_out_splits_have_every_digit_equally_often():
    assert np.bincount(arrays("validation")[1]).tolist() == [20] * 10
    assert np.bincount(arrays("test")[1]).tolist() == [30] * 10


def test_the_splits_together_are_all_the_images_once():
    found = [
        (image.tobytes(), label)
        for split in SIZES
        for image, label in zip(*arrays(split), strict=True)
    ]
    bunch = load_digits()
    expected = [
        (np.round(image * 255 / 16).astype("uint8").tobytes(), label)
        for image, label in zip(bunch.images, bunch.target, strict=True)
    ]
    assert sorted(found) == sorted(expected)
    # No image is there twice, so the splits share none.
    assert len(set(found)) == len(found)


def test_pixels_use_the_whole_range():
    images, _ = arrays("train")
    assert images.min() == 0
    assert images.max() == 255


def test_the_order_does_not_tell_the_label():
    _, labels = arrays("train")
    assert all(len(set(part)) > 4 for part in np.split(labels[:1280], 64))


class Absent:
    """An importer that finds no scikit-learn."""

    def find_spec(self, name, path=None, target=None):
        if name == "sklearn":
            raise ModuleNotFoundError(name=name)


def test_without_scikit_learn_it_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "sklearn")
    monkeypatch.delitem(sys.modules, "sklearn.datasets")
    monkeypatch.setattr(sys, "meta_path", [Absent(), *sys.meta_path])
    with pytest.raises(ImportError, match=r"keras_attn\[data\]"):
        digits()
