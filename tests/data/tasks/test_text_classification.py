import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.pipeline.batching import batches
from keras_attn.data.tasks.text_classification import text_classification
from keras_attn.export.graph.text_pairs import TextPairs
from keras_attn.text.byte import ByteTokenizer

START, END = 2, 3


def examples(**fields):
    return tf.data.Dataset.from_tensor_slices(fields)


def letters(text):
    return ByteTokenizer()(text).numpy().tolist()


def test_a_text_and_its_class():
    data = examples(text=["ab", "c"], label=np.array([4, 5], "int64"))
    classified = text_classification(data, ByteTokenizer())
    ids = tf.TensorSpec((None,), tf.int32)
    assert classified.element_spec == (
        {"tokens": ids, "segments": ids},
        tf.TensorSpec((), tf.int32),
    )
    assert [
        (inputs["tokens"].tolist(), inputs["segments"].tolist(), label)
        for inputs, label in classified.as_numpy_iterator()
    ] == [
        ([START, *letters("ab"), END], [0] * 4, 4),
        ([START, *letters("c"), END], [0] * 3, 5),
    ]


def test_a_pair_of_texts_and_its_score():
    data = examples(
        text=["a", "b"], text_pair=["c", "de"], label=np.array([0.5, 2.25])
    )
    dataset = batches(
        text_classification(data, ByteTokenizer()), 2, lengths=7, pad_id=0
    )
    inputs, labels = dataset.element_spec
    assert inputs["tokens"] == inputs["segments"]
    assert inputs["tokens"] == tf.TensorSpec((2, 7), tf.int32)
    assert labels == tf.TensorSpec((2,), tf.float32)
    ((inputs, labels),) = dataset.as_numpy_iterator()
    assert labels.tolist() == [0.5, 2.25]
    assert inputs["segments"].tolist() == [
        [0, 0, 0, 1, 1, 0, 0],
        [0, 0, 0, 1, 1, 1, 0],
    ]


def test_what_is_too_long_is_cut_as_when_it_is_served():
    data = examples(
        text=["abcdef", "a"], text_pair=["gh", "ijklmn"], label=[0, 1]
    )
    cut = text_classification(data, ByteTokenizer(), max_length=8)
    served = TextPairs(ByteTokenizer(), max_length=8)
    for (inputs, _), texts in zip(
        cut.as_numpy_iterator(), data.as_numpy_iterator(), strict=True
    ):
        rows = served(tf.constant([texts["text"]]), [texts["text_pair"]])
        assert rows["truncated"].numpy() == [True]
        for name, ids in inputs.items():
            assert ids.tolist() == rows[name][0].numpy().tolist()
            assert len(ids) == 8
    alone = data.map(lambda x: {"text": x["text"], "label": x["label"]})
    alone = text_classification(alone, ByteTokenizer(), max_length=5)
    (first, _), (second, _) = alone.as_numpy_iterator()
    assert first["tokens"].tolist() == [START, *letters("abc"), END]
    assert second["tokens"].tolist() == [START, *letters("a"), END]
    with pytest.raises(ValueError, match=r"`max_length`.*at least 4"):
        text_classification(data, ByteTokenizer(), max_length=3)


@pytest.mark.parametrize(
    "fields",
    [{"text": ["a"]}, {"text": ["a"], "label": ["good"]}],
    ids=["none", "string"],
)
def test_a_label_that_is_no_number_is_refused(fields):
    with pytest.raises(ValueError, match=r"numerical `label`.*numbers first"):
        text_classification(examples(**fields), ByteTokenizer())


def test_examples_without_a_text_are_refused():
    with pytest.raises(ValueError, match=r"scalar strings \('text',\)"):
        text_classification(examples(label=[1]), ByteTokenizer())
