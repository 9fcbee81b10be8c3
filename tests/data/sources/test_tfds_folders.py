import pytest
import tensorflow as tf

from keras_attn.data.sources.tfds_folders import tfds_image_folder
from keras_attn.data.sources.tfds_folders import tfds_translate_folder
from tests.data.source_files import write_image


@pytest.fixture
def texts(tmp_path):
    for split, count in (("train", 3), ("test", 2)):
        for language in ("en", "fr", "de"):
            lines = [f"{language} {split} {k}\n" for k in range(count)]
            (tmp_path / f"{language}.{split}.txt").write_text("".join(lines))
    return tmp_path


@pytest.fixture
def images(tmp_path):
    write_image(tmp_path / "train" / "cat" / "a.png", 40)
    write_image(tmp_path / "train" / "dog" / "b.jpg", 80, size=(6, 7))
    write_image(tmp_path / "test" / "ant" / "c.png", 120)
    return tmp_path


@pytest.mark.parametrize(("split", "count"), [("train", 3), ("test", 2)])
def test_two_languages_of_a_folder_are_paired(texts, split, count):
    pairs = tfds_translate_folder(texts, "fr", "de", split=split)
    assert [
        (row["source"].decode(), row["target"].decode())
        for row in pairs.as_numpy_iterator()
    ] == [(f"fr {split} {k}", f"de {split} {k}") for k in range(count)]


def test_wrong_translation_folders_get_a_sentence(texts):
    with pytest.raises(ValueError, match=r"\['de', 'en', 'fr'\].*\['pt'\]"):
        tfds_translate_folder(texts, "fr", "pt")
    with pytest.raises(ValueError, match=r"\['test', 'train'\].*'validation'"):
        tfds_translate_folder(texts, "fr", "de", split="validation")
    with pytest.raises(NotADirectoryError, match="nowhere"):
        tfds_translate_folder(texts / "nowhere", "fr", "de")
    (texts / "empty").mkdir()
    with pytest.raises(ValueError, match=r"\['empty'\]"):
        tfds_translate_folder(texts, "fr", "de")
    with pytest.raises(ValueError, match="no file"):
        tfds_translate_folder(texts / "empty", "fr", "de")


def test_files_of_different_length_are_refused(texts):
    (texts / "fr.train.txt").write_text("one\n")
    with pytest.raises(ValueError, match=r"split train do not match.*'fr': 1"):
        tfds_translate_folder(texts, "fr", "de")


def test_labels_count_the_classes_of_every_split(images):
    examples = tfds_image_folder(images)
    assert examples.element_spec == {
        "image": tf.TensorSpec((), "string"),
        "label": tf.TensorSpec((), "int32"),
    }
    read = {row["label"]: row["image"] for row in examples.as_numpy_iterator()}
    assert read == {
        1: (images / "train" / "cat" / "a.png").read_bytes(),
        2: (images / "train" / "dog" / "b.jpg").read_bytes(),
    }
    (row,) = tfds_image_folder(images, split="test").as_numpy_iterator()
    assert row["label"] == 0


def test_wrong_image_folders_get_a_sentence(images):
    (images / "valid" / "cat").mkdir(parents=True)
    match = r"<root>/valid/<class>.* in the splits \['test', 'train'\]"
    with pytest.raises(ValueError, match=match):
        tfds_image_folder(images, split="valid")
    with pytest.raises(ValueError, match=r"splits \[\].*`image_folder`"):
        tfds_image_folder(images / "train")
    with pytest.raises(NotADirectoryError, match="nowhere"):
        tfds_image_folder(images / "nowhere")
