import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.tasks.image_classification import image_classification


def source(images, labels):
    return tf.data.Dataset.from_tensor_slices(
        {"image": images, "label": labels}
    )


def files(tmp_path, sizes):
    """Grey PNG files of these sizes, the k-th with all pixels at 10 k."""
    for index, size in enumerate(sizes):
        image = tf.cast(tf.fill((*size, 1), 10 * index), tf.uint8)
        tf.io.write_file(
            str(tmp_path / f"{index}.png"), tf.io.encode_png(image)
        )
    names = [str(tmp_path / f"{index}.png") for index in range(len(sizes))]
    examples = source(names, np.arange(len(sizes), dtype="int64"))
    return examples.map(
        lambda example: {**example, "image": tf.io.read_file(example["image"])}
    )


def test_files_of_any_size_become_images_of_one_size(tmp_path):
    examples = files(tmp_path, [(4, 9), (7, 3), (6, 6)])
    batches = image_classification(examples, size=(5, 4)).batch(3)
    ((images, labels),) = batches.as_numpy_iterator()
    assert images.shape == (3, 5, 4, 3)
    assert images.dtype == "float32"
    assert labels.dtype == "int32"
    assert labels.tolist() == [0, 1, 2]
    for index, image in enumerate(images):
        np.testing.assert_allclose(image, 10 * index / 255, atol=1e-6)


def test_every_shape_is_known_before_the_first_example(tmp_path):
    examples = image_classification(
        files(tmp_path, [(4, 9)]), size=6, channels=1
    )
    image, label = examples.element_spec
    assert image == tf.TensorSpec((6, 6, 1), tf.float32)
    assert label == tf.TensorSpec((), tf.int32)


def test_arrays_are_images_too():
    images = np.zeros((2, 8, 8, 1), "uint8")
    images[1] = 255
    examples = image_classification(source(images, [3, 4]), size=16)
    (first, three), (second, four) = examples.as_numpy_iterator()
    assert (three, four) == (3, 4)
    np.testing.assert_array_equal(first, np.zeros((16, 16, 3)))
    np.testing.assert_array_equal(second, np.ones((16, 16, 3)))


def test_squeezing_keeps_the_ends():
    images = np.zeros((1, 4, 12, 1), "uint8")
    images[:, :, :4] = 255
    for fit, brightest in (("crop", 0), ("squeeze", 1)):
        examples = image_classification(source(images, [0]), size=4, fit=fit)
        ((image, _),) = examples.as_numpy_iterator()
        assert image.max() == brightest


def test_a_broken_file_is_told(tmp_path):
    examples = image_classification(source([b"broken"], [0]), size=4)
    with pytest.raises(tf.errors.InvalidArgumentError, match="image file"):
        next(iter(examples))


@pytest.mark.parametrize(
    ("label", "num_classes", "complaint"),
    [
        (5, 5, r"num_classes=5.*5"),
        (-1, 5, r"num_classes=5.*-1"),
        (-1, None, "from 0"),
    ],
)
def test_a_label_that_is_no_class_is_told(label, num_classes, complaint):
    images = np.zeros((2, 4, 4, 3), "uint8")
    examples = iter(
        image_classification(
            source(images, [4, label]), size=4, num_classes=num_classes
        )
    )
    assert next(examples)[1] == 4
    with pytest.raises(tf.errors.InvalidArgumentError, match=complaint):
        next(examples)


def test_a_file_that_is_too_large_is_told():
    file = tf.io.encode_png(np.zeros((6, 7, 1), "uint8")).numpy()
    examples = image_classification(source([file], [0]), size=4, max_pixels=41)
    with pytest.raises(tf.errors.InvalidArgumentError, match="max_pixels=41"):
        next(iter(examples))


def test_its_iterator_can_be_saved(tmp_path):
    examples = image_classification(
        files(tmp_path, [(3, 3)] * 4), size=3, num_classes=4
    )
    iterator = iter(examples)
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "at"))
    iterator = iter(examples)
    tf.train.Checkpoint(iterator=iterator).restore(path)
    assert [int(label) for _, label in iterator] == [1, 2, 3]


@pytest.mark.parametrize(
    ("examples", "complaint"),
    [
        (tf.data.Dataset.range(2), "dictionaries"),
        (tf.data.Dataset.from_tensors({"picture": 1, "label": 2}), "'picture'"),
        (source(np.zeros((1, 4, 4, 3), "uint8"), ["cat"]), "string"),
        (source(np.zeros((1, 4, 4, 3), "uint8"), [[0, 1]]), "scalar"),
        (source(np.zeros((1, 4, 4, 3), "float32"), [0]), "float32"),
    ],
)
def test_examples_of_another_kind_are_told(examples, complaint):
    with pytest.raises(ValueError, match=complaint):
        image_classification(examples, size=4)
