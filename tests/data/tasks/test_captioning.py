import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.tasks.captioning import captioning
from keras_attn.text.byte import ByteTokenizer


def source(captions):
    images = np.zeros((len(captions), 4, 6, 1), "uint8")
    images[..., 0] = 50 * np.arange(len(captions))[:, None, None]
    return tf.data.Dataset.from_tensor_slices(
        {"image": images, "caption": captions}
    )


def test_the_target_is_the_label_one_step_later():
    tokenizer = ByteTokenizer()
    examples = captioning(source(["ab", "", "é"]), tokenizer, size=5)
    captions = [b"ab", b"", "é".encode()]
    for index, (inputs, labels) in enumerate(examples.as_numpy_iterator()):
        ids = tokenizer(captions[index]).numpy().tolist()
        assert inputs["target"].tolist() == [tokenizer.start_id, *ids]
        assert labels.tolist() == [*ids, tokenizer.end_id]
        np.testing.assert_allclose(inputs["image"], 50 * index / 255, atol=1e-6)
    assert index == 2


def test_images_are_of_one_size_and_texts_as_long_as_they_are():
    examples = captioning(source(["ab"]), ByteTokenizer(), size=5, channels=1)
    inputs, labels = examples.element_spec
    assert inputs["image"] == tf.TensorSpec((5, 5, 1), tf.float32)
    assert inputs["target"] == tf.TensorSpec((None,), tf.int32)
    assert labels == tf.TensorSpec((None,), tf.int32)


def test_encoded_images_are_read():
    content = tf.io.encode_png(np.full((3, 7, 3), 255, "uint8"))
    examples = tf.data.Dataset.from_tensors(
        {"image": content, "caption": "white"}
    )
    ((inputs, _),) = captioning(examples, ByteTokenizer(), size=4)
    np.testing.assert_array_equal(inputs["image"], np.ones((4, 4, 3)))


def test_missing_fields_are_told():
    examples = tf.data.Dataset.from_tensors({"image": "a", "text": "b"})
    with pytest.raises(ValueError, match=r"lack \['caption'\].*'text'"):
        captioning(examples, ByteTokenizer(), size=4)


@pytest.mark.parametrize("missing", ["start", "end"])
def test_a_vocabulary_without_a_start_or_an_end_is_told(missing):
    tokenizer = ByteTokenizer()

    class Without:
        start_id, end_id = tokenizer.start_id, tokenizer.end_id

    setattr(Without, f"{missing}_id", None)
    with pytest.raises(ValueError, match=f"no {missing.upper()} token"):
        captioning(source(["a"]), Without(), size=4)


def test_a_file_that_is_too_large_is_told():
    content = tf.io.encode_png(np.zeros((6, 7, 1), "uint8"))
    examples = tf.data.Dataset.from_tensors({"image": content, "caption": "a"})
    examples = captioning(examples, ByteTokenizer(), size=4, max_pixels=41)
    with pytest.raises(tf.errors.InvalidArgumentError, match="max_pixels=41"):
        next(iter(examples))


def test_several_captions_at_once_are_told():
    with pytest.raises(ValueError, match="several examples"):
        captioning(source([["a", "b"]]), ByteTokenizer(), size=4)
