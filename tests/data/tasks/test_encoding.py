import pytest
import tensorflow as tf

from keras_attn.data.tasks.encoding import check_texts
from keras_attn.data.tasks.encoding import encode
from keras_attn.data.tasks.encoding import text_ids
from keras_attn.text.byte import ByteTokenizer


def lengths(texts):
    return tf.strings.unicode_decode(texts, "UTF-8")


@pytest.mark.parametrize("at_once", [1, 2, 5, 256])
def test_examples_come_one_by_one_dense_and_in_order(at_once):
    texts = ["abc", "", "d", "ef", "g"]
    encoded = encode(
        tf.data.Dataset.from_tensor_slices(texts), lengths, at_once=at_once
    )
    assert encoded.element_spec == tf.TensorSpec((None,), tf.int32)
    assert [row.tolist() for row in encoded.as_numpy_iterator()] == [
        [ord(letter) for letter in text] for text in texts
    ]
    assert encoded.cardinality() == 5


def test_the_function_gets_many_texts_at_once():
    texts = tf.data.Dataset.from_tensor_slices(["a"] * 300)
    groups = encode(
        texts, lambda group: tf.fill(tf.shape(group), tf.size(group))
    )
    sizes = list(groups.as_numpy_iterator())
    assert sizes == [256] * 256 + [44] * 44


def test_structures_come_apart_in_step():
    texts = tf.data.Dataset.from_tensor_slices({"a": ["x", "yz"], "b": [1, 2]})
    encoded = encode(texts, lambda e: ({"a": lengths(e["a"])}, e["b"]))
    assert [
        (inputs["a"].tolist(), label)
        for inputs, label in encoded.as_numpy_iterator()
    ] == [([120], 1), ([121, 122], 2)]


@pytest.mark.parametrize("count", [0, None])
def test_none_and_unknown_many_are_fine(count):
    texts = tf.data.Dataset.from_tensor_slices(["a", "b"])
    if count is None:
        texts = texts.filter(lambda text: text != "a")
    else:
        texts = texts.take(0)
    encoded = encode(texts, lengths)
    assert len(list(encoded)) == int(count is None)


def test_examples_without_end_stay_without_end():
    texts = tf.data.Dataset.from_tensor_slices(["a", "b"]).repeat()
    encoded = encode(texts, lengths)
    assert encoded.cardinality() == tf.data.INFINITE_CARDINALITY
    assert len(list(encoded.take(600))) == 600


def test_an_iterator_resumes_within_a_group(tmp_path):
    texts = [str(number) for number in range(20)]
    encoded = encode(
        tf.data.Dataset.from_tensor_slices(texts), lengths, at_once=8
    )
    iterator = iter(encoded)
    seen = [next(iterator).numpy().tolist() for _ in range(11)]
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "saved"))
    resumed = iter(encoded)
    tf.train.Checkpoint(iterator=resumed).read(path).assert_consumed()
    seen += [row.numpy().tolist() for row in resumed]
    assert seen == [[ord(digit) for digit in text] for text in texts]


@pytest.mark.parametrize(
    "example",
    [
        {"other": "a"},
        {"text": 1},
        {"text": ["a", "b"]},
        {"text": "a", "text_pair": 1},
        ("a", "b"),
        "a",
    ],
    ids=str,
)
def test_examples_without_the_texts_are_refused(example):
    examples = tf.data.Dataset.from_tensors(example)
    with pytest.raises(ValueError, match=r"scalar strings \('text'.*Received"):
        check_texts(examples, "text", optional="text_pair")


def test_other_fields_may_be_there():
    examples = tf.data.Dataset.from_tensors({"text": "a", "label": 1})
    check_texts(examples, "text", optional="text_pair")


def test_the_texts_of_an_example_become_ids_in_order():
    tokenizer = ByteTokenizer()
    example = {"text_pair": tf.constant(["b"]), "text": tf.constant(["a"])}
    first, second = text_ids(tokenizer, example)
    assert tokenizer.detokenize(first) == b"a"
    assert tokenizer.detokenize(second) == b"b"
    del example["text_pair"]
    assert len(text_ids(tokenizer, example)) == 1
