import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.sources.tfds_names import from_tfds
from tests.data.source_files import tfds_builders
from tests.data.source_files import write_image


@pytest.fixture
def folders(tmp_path):
    """The two folders that `from_tfds` takes, the second with a file in it."""
    tfds_builders()
    manual = tmp_path / "manual"
    manual.mkdir()
    (manual / "pairs.tsv").write_text("um\tone\ndois\ttwo\ntrês\tthree\n")
    return {"data_dir": tmp_path / "data", "manual_dir": manual}


@pytest.fixture
def image_folders(folders):
    for number, name in enumerate(["dark_0", "light_0", "light_1"]):
        write_image(folders["manual_dir"] / f"{name}.png", 50 * number + 10)
    return folders


@pytest.mark.parametrize("prefix", ["", "tfds:"])
def test_the_first_supervised_language_is_the_source(folders, prefix):
    pairs = from_tfds(f"{prefix}local_pairs", **folders)
    read = {
        row["source"].decode(): row["target"].decode()
        for row in pairs.as_numpy_iterator()
    }
    assert read == {"um": "one", "dois": "two", "três": "three"}
    assert pairs.cardinality() == 3


def test_what_is_prepared_needs_no_files_again(folders):
    first = list(from_tfds("local_pairs", **folders).as_numpy_iterator())
    again = from_tfds("local_pairs", data_dir=str(folders["data_dir"]))
    assert list(again.as_numpy_iterator()) == first


def test_images_of_one_size_are_decoded(image_folders):
    examples = from_tfds("local_images/sized", **image_folders)
    assert examples.element_spec == {
        "image": tf.TensorSpec((4, 5, 3), "uint8"),
        "label": tf.TensorSpec((), "int32"),
    }
    read = {
        (int(row["image"].mean()), int(row["label"]))
        for row in examples.as_numpy_iterator()
    }
    assert read == {(10, 0), (60, 1), (110, 1)}


def test_images_of_any_size_stay_encoded(image_folders):
    examples = from_tfds("local_images/any_size", **image_folders)
    assert examples.element_spec == {
        "image": tf.TensorSpec((), "string"),
        "label": tf.TensorSpec((), "int32"),
    }
    read = {
        (int(np.mean(tf.io.decode_image(row["image"]))), int(row["label"]))
        for row in examples.as_numpy_iterator()
    }
    assert read == {(10, 0), (60, 1), (110, 1)}


def test_text_with_a_class_is_text_and_label(folders):
    examples = from_tfds("local_reviews/supervised", **folders)
    assert examples.element_spec["label"].dtype == tf.int32
    read = {
        row["text"].decode(): int(row["label"])
        for row in examples.as_numpy_iterator()
    }
    assert read == {"": 0, "go": 1, "gogo": 2}


@pytest.mark.parametrize("config", ["plain", "nested"])
def test_other_datasets_keep_their_names_and_labels_are_int32(folders, config):
    examples = from_tfds(f"local_reviews/{config}", **folders)
    assert examples.element_spec == {
        "review": tf.TensorSpec((), "string"),
        "stars": tf.TensorSpec((), "int64"),
        "label": tf.TensorSpec((), "int32"),
    }


def test_features_are_picked_by_name(folders):
    names = {"text": "review", "label": "stars"}
    examples = from_tfds("local_reviews/plain", features=names, **folders)
    assert list(examples.element_spec) == ["text", "label"]
    read = {
        row["text"].decode(): int(row["label"])
        for row in examples.as_numpy_iterator()
    }
    assert read == {"": 0, "go": 1, "gogo": 2}
    match = r"\['label', 'review', 'stars'\].*\['title'\] are not"
    with pytest.raises(ValueError, match=match):
        from_tfds("local_reviews/plain", features={"text": "title"}, **folders)


def test_parts_of_a_split_are_told_apart(folders):
    whole, first, rest = (
        list(from_tfds("local_pairs", split=split, **folders))
        for split in ("train", "train[:2]", "train[2:]")
    )
    assert (len(first), len(rest)) == (2, 1)
    assert [row["source"] for row in first + rest] == [
        row["source"] for row in whole
    ]


@pytest.mark.parametrize("split", ["test", "train[:2"])
def test_a_split_that_is_not_there_gets_the_list(folders, split):
    with pytest.raises(ValueError, match=r"the splits \['train'\]") as caught:
        from_tfds("local_pairs", split=split, **folders)
    assert repr(split) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fashion_mnits", "Did you mean: fashion_mnist"),
        ("ted_hrlr_translate/pt_to_xx", "pt_to_xx not found"),
        ("no name!", "Parsing builder name"),
    ],
)
def test_an_unknown_name_is_sent_to_the_catalogue(tmp_path, name, said):
    with pytest.raises(ValueError, match="datasets/catalog") as caught:
        from_tfds(f"tfds:{name}", data_dir=tmp_path)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("manual", ["nowhere", "empty", None])
def test_missing_manual_files_get_the_instructions(folders, tmp_path, manual):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "another.tsv").write_text("x\ty\n")
    where = None if manual is None else tmp_path / manual
    with pytest.raises(FileNotFoundError, match="Write the file") as caught:
        from_tfds("local_pairs", data_dir=tmp_path / "d", manual_dir=where)
    assert f"manual_dir={where and str(where)!r}" in str(caught.value)


def test_a_machine_without_network_gets_a_way_out(folders):
    match = "no route to host Without a network.*pass `data_dir`"
    with pytest.raises(ConnectionError, match=match):
        from_tfds("local_outage", **folders)
