import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.pipeline.batching import batches
from keras_attn.data.tasks.question_answering import question_answering
from keras_attn.text import WordPieceTokenizer
from keras_attn.text.special_tokens import DEFAULT

WORDS = ["who", "the", "cafe", "##s", "in", "li", "##lle", ","]
START, END = 2, 3


def tokenizer():
    return WordPieceTokenizer(
        [*DEFAULT, *WORDS], lowercase=True, strip_accents=True
    )


def examples(*rows):
    names = ("question", "context", "answer", "answer_start")
    columns = zip(*rows, strict=True)
    return tf.data.Dataset.from_tensor_slices(
        dict(zip(names, map(list, columns), strict=True))
    )


def spelled(data, **options):
    """What of each row the labels point to, and the labels."""
    names = tokenizer().vocabulary
    for inputs, labels in question_answering(
        data, tokenizer(), **options
    ).as_numpy_iterator():
        start, end = labels["start"], labels["end"]
        tokens = inputs["tokens"][start : end + 1]
        yield " ".join(names[number] for number in tokens), start, end


def test_the_answer_is_found_among_the_tokens():
    text = "In Lille,  the CAFÉS"
    data = examples(
        ("Who", text, "Lille", 3),
        ("Who in", text, "CAFÉS", 15),
        ("Who", text, "fé", 17),
        ("Who", text, "", 0),
    )
    assert [*spelled(data)] == [
        ("li ##lle", 4, 5),
        ("cafe ##s", 9, 10),
        ("cafe", 8, 8),
        ("[START]", 0, 0),
    ]
    inputs, labels = next(iter(question_answering(data, tokenizer())))
    ids = [names for names in inputs["tokens"].numpy() if names in (START, END)]
    assert ids == [START, END, END] and inputs["segments"].numpy()[3] == 1
    assert labels["start"].dtype == tf.int32


def test_what_is_cut_off_has_no_place():
    text = "in lille , the cafes"
    data = examples(
        ("who who who who", text, "lille", 3), ("who", text, "cafes", 15)
    )
    # Six tokens beside the special ones: three of the question at most.
    assert [*spelled(data, max_length=9)] == [
        ("li ##lle", 6, 7),
        ("[START]", 0, 0),
    ]
    lengths = [
        len(inputs["tokens"])
        for inputs, _ in question_answering(data, tokenizer(), max_length=9)
    ]
    assert lengths == [9, 9]


def test_examples_can_be_batched():
    data = examples(("who", "in lille", "lille", 3), ("who", "in", "in", 0))
    dataset = batches(
        question_answering(data, tokenizer()), 2, lengths=8, pad_id=0
    )
    ((inputs, labels),) = dataset.as_numpy_iterator()
    assert inputs["tokens"].shape == (2, 8)
    np.testing.assert_array_equal(labels["start"], [4, 3])
    np.testing.assert_array_equal(labels["end"], [5, 3])


def test_wrong_examples_and_lengths_are_refused():
    good = examples(("who", "in", "in", 0))
    with pytest.raises(ValueError, match="scalar strings"):
        question_answering(good.map(lambda x: x["context"]), tokenizer())
    wrong = good.map(lambda x: {**x, "answer_start": "0"})
    with pytest.raises(ValueError, match="integer `answer_start`"):
        question_answering(wrong, tokenizer())
    with pytest.raises(ValueError, match="max_length=4"):
        question_answering(good, tokenizer(), max_length=4)
