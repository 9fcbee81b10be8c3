import pytest
import tensorflow as tf

from keras_attn.data.pipeline.batching import batches
from keras_attn.data.tasks.translation import translation
from keras_attn.text.byte import ByteTokenizer
from keras_attn.text.character import CharacterTokenizer

PAD, START, END = 0, 2, 3


def pairs(**texts):
    return tf.data.Dataset.from_tensor_slices(texts)


def letters(text):
    return ByteTokenizer()(text).numpy().tolist()


def test_the_target_is_shifted_by_one_for_teacher_forcing():
    examples = translation(
        pairs(source=["abc", "", "é"], target=["xy", "z", ""]), ByteTokenizer()
    )
    ids = tf.TensorSpec((None,), tf.int32)
    assert examples.element_spec == ({"source": ids, "target": ids}, ids)
    assert [
        (inputs["source"].tolist(), inputs["target"].tolist(), labels.tolist())
        for inputs, labels in examples.as_numpy_iterator()
    ] == [
        (
            [*letters("abc"), END],
            [START, *letters("xy")],
            [*letters("xy"), END],
        ),
        ([END], [START, *letters("z")], [*letters("z"), END]),
        ([*letters("é"), END], [START], [END]),
    ]
    assert examples.cardinality() == 3


def test_a_reversed_source_ends_with_end():
    data = pairs(source=["abc", "", "d"], target=["xy", "x", "y"])
    examples = translation(data, ByteTokenizer(), reverse_source=True)
    sources = [inputs["source"].numpy().tolist() for inputs, _ in examples]
    assert sources == [[*letters("cba"), END], [END], [*letters("d"), END]]
    inputs, labels = next(iter(examples))
    assert inputs["target"].numpy().tolist() == [START, *letters("xy")]
    assert labels.numpy().tolist() == [*letters("xy"), END]


def test_each_side_may_have_its_tokenizer():
    special = ["[PAD]", "[UNK]", "[START]", "[END]"]
    tokenizer = CharacterTokenizer([*special, "x", "y"])
    examples = translation(
        pairs(source=["ab"], target=["yx"]), ByteTokenizer(), tokenizer
    )
    ((inputs, labels),) = examples.as_numpy_iterator()
    assert inputs["source"].tolist() == [*letters("ab"), END]
    assert inputs["target"].tolist() == [2, 5, 4]
    assert labels.tolist() == [5, 4, 3]


def test_other_fields_are_left_behind():
    data = pairs(source=["a"], target=["b"], alignment=[[0, 1]])
    ((inputs, _),) = translation(data, ByteTokenizer())
    assert inputs.keys() == {"source", "target"}


def test_batches_are_padded_and_their_shapes_known():
    data = pairs(source=["abc", "d"], target=["x", "yz"])
    dataset = batches(translation(data, ByteTokenizer()), 2, lengths=6)
    inputs, labels = dataset.element_spec
    for spec in (*inputs.values(), labels):
        assert spec == tf.TensorSpec((2, 6), tf.int32)
    ((inputs, labels),) = dataset.as_numpy_iterator()
    assert labels[0].tolist() == [*letters("x"), END, PAD, PAD, PAD, PAD]
    assert inputs["source"][0].tolist() == [*letters("abc"), END, PAD, PAD]


def test_a_saved_iterator_resumes_at_the_same_pair(tmp_path):
    texts = [str(number) for number in range(40)]
    data = pairs(source=texts, target=texts[::-1])

    def dataset():
        examples = translation(data, ByteTokenizer(), reverse_source=True)
        return batches(examples, 2, lengths=[2, 3], shuffle=9)

    whole = [labels.numpy().tolist() for _, labels in dataset()]
    iterator = iter(dataset())
    seen = [next(iterator)[1].numpy().tolist() for _ in range(7)]
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "saved"))
    resumed = iter(dataset())
    tf.train.Checkpoint(iterator=resumed).read(path).assert_consumed()
    assert seen + [labels.numpy().tolist() for _, labels in resumed] == whole
    assert len(whole) > 12


def test_tokenizers_that_pad_differently_are_refused():
    tokenizer = CharacterTokenizer(["[UNK]", "[PAD]", "[START]", "[END]", "a"])
    with pytest.raises(ValueError, match=r"same id.*pad_id=0.*pad_id=1"):
        translation(
            pairs(source=["a"], target=["b"]), ByteTokenizer(), tokenizer
        )


@pytest.mark.parametrize("part", ["START", "END"])
def test_a_vocabulary_without_start_or_end_is_refused(part):
    special = {"[PAD]", "[UNK]", "[START]", "[END]"} - {f"[{part}]"}
    tokenizer = CharacterTokenizer([*sorted(special), "a"])
    with pytest.raises(ValueError, match=f"no {part} token"):
        translation(pairs(source=["a"], target=["b"]), tokenizer)


def test_pairs_without_a_target_are_refused():
    with pytest.raises(ValueError, match=r"'source', 'target'"):
        translation(pairs(source=["a"]), ByteTokenizer())
