import os

import pytest
import tensorflow as tf

from keras_attn.data.sources.image_files import class_names
from keras_attn.data.sources.image_files import image_folder
from tests.data.source_files import write_image

SHADES = {
    "cat/b.jpg": 10,
    "cat/a.PNG": 60,
    "dog/c.JPEG": 110,
    "ant/d.png": 160,
    "dog/a.jpeg": 210,
}
LABELS = {"ant": 0, "cat": 1, "dog": 2}


@pytest.fixture
def folder(tmp_path):
    for name, shade in SHADES.items():
        write_image(tmp_path / name, shade)
    (tmp_path / "cat" / "notes.txt").write_text("no image")
    (tmp_path / "dog" / ".hidden.png").write_text("no image")
    (tmp_path / ".cache").mkdir()
    (tmp_path / "README").write_text("no class")
    return tmp_path


def shades_and_labels(examples):
    """(shade of the middle, label) of each example."""
    return [
        (
            round(float(tf.io.decode_image(image)[2, 2, 0]), -1),
            int(label),
        )
        for image, label in examples.map(
            lambda row: (row["image"], row["label"])
        )
    ]


def test_classes_are_the_sorted_sub_folders(folder):
    assert class_names(folder) == ["ant", "cat", "dog"]


def test_images_come_sorted_without_a_seed(folder):
    examples = image_folder(folder, seed=None)
    assert examples.element_spec == {
        "image": tf.TensorSpec((), "string"),
        "label": tf.TensorSpec((), "int32"),
    }
    assert examples.cardinality() == 5
    wanted = [
        (SHADES[name], LABELS[os.path.dirname(name)]) for name in sorted(SHADES)
    ]
    assert shades_and_labels(examples) == wanted


def test_a_seed_mixes_once_and_keeps_labels_with_their_images(folder):
    in_order = shades_and_labels(image_folder(folder, seed=None))
    mixed = shades_and_labels(image_folder(folder))
    assert mixed != in_order
    assert sorted(mixed) == sorted(in_order)
    assert shades_and_labels(image_folder(folder, seed=0)) == mixed
    assert shades_and_labels(image_folder(folder, seed=1)) != mixed


def test_labels_follow_the_classes_of_another_folder(folder, tmp_path):
    part = tmp_path / "test"
    write_image(part / "dog" / "x.png", 30)
    assert shades_and_labels(image_folder(part)) == [(30, 0)]
    examples = image_folder(part, classes=["ant", "cat", "dog"])
    assert shades_and_labels(examples) == [(30, 2)]
    with pytest.raises(ValueError, match=r"\['dog'\], which are not among"):
        image_folder(part, classes=["ant", "cat"])


def test_folders_of_another_form_get_a_sentence(tmp_path):
    with pytest.raises(NotADirectoryError, match=r"no folder '.*nowhere'"):
        image_folder(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="has no sub-folder"):
        image_folder(tmp_path)
    write_image(tmp_path / "loose.png", 30)
    with pytest.raises(ValueError, match="has no sub-folder"):
        class_names(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"empty' has no image"):
        image_folder(tmp_path)
