import pytest
import tensorflow as tf

from keras_attn.export.graph.spans.context_windows import ContextWindows
from tests.export import texts

SETTINGS = {"max_length": 9, "stride": 1, "max_windows": 4, "whole_words": True}


def read(question, context, **options):
    windows = ContextWindows(texts.tokenizer(), **{**SETTINGS, **options})
    return windows(tf.constant(question), tf.constant(context))


def spelled(rows):
    """The rows as tokens, and what is legal in the original context."""
    names = texts.tokenizer().vocabulary
    owner = tf.repeat(tf.range(tf.size(rows["windows"])), rows["windows"])
    contexts = [rows["context"].numpy()[n].decode() for n in owner]
    tokens = [[names[n] for n in row] for row in rows["tokens"].numpy()]
    parts = [
        [
            context[start:end]
            for start, end, legal in zip(*row, strict=True)
            if legal
        ]
        for context, *row in zip(
            contexts,
            rows["starts"].numpy(),
            rows["ends"].numpy(),
            rows["legal"].numpy(),
            strict=True,
        )
    ]
    return [" ".join(row) for row in tokens], parts


def test_a_short_context_is_one_row():
    rows = read(["the cat", "a"], ["On the  mats", "é"])
    tokens, parts = spelled(rows)
    assert tokens == [
        "[START] the cat [END] [UNK] the mat ##s [END]",
        "[START] a [END] é [END] [PAD] [PAD] [PAD] [PAD]",
    ]
    assert parts == [["On", "the", "mats", "mats"], ["é"]]
    assert rows["windows"].numpy().tolist() == [1, 1]
    assert rows["segments"].numpy()[0].tolist() == [0] * 4 + [1] * 5
    assert not rows["truncated"].numpy().any() and rows["valid"].numpy().all()


def test_a_long_context_is_read_in_windows_that_overlap():
    # Four tokens of the context fit beside two of the question.
    rows = read(["the cat"], ["a cat , sat on the mat ! é a a"])
    _, parts = spelled(rows)
    assert parts == [
        ["a", "cat", ",", "sat"],
        ["sat", "on", "the", "mat"],
        ["mat", "!", "é", "a"],
        ["a", "a"],
    ]
    assert rows["windows"].numpy().tolist() == [4]
    assert not rows["truncated"].numpy().any()


@pytest.mark.parametrize(
    ("stride", "second"), [(0, ["on", "the"]), (128, [",", "sat", "on", "the"])]
)
def test_windows_share_as_much_as_asked_for_but_at_most_half(stride, second):
    rows = read(["the cat"], ["a cat , sat on the"], stride=stride)
    _, parts = spelled(rows)
    assert parts == [["a", "cat", ",", "sat"], second]


def test_what_is_not_read_is_told():
    rows = read(
        ["the cat", "a cat , sat", "a", b"\xff", "a", ""],
        ["a cat , sat on the mat !", "a", "a", "a", b"\xff", "a"],
        max_windows=2,
    )
    tokens, _ = spelled(rows)
    assert rows["truncated"].numpy().tolist() == [True, True] + [False] * 4
    assert rows["valid"].numpy().tolist() == [True] * 3 + [False] * 3
    assert tokens[2].startswith("[START] a cat , [END] a [END]")


def test_rows_of_one_length_and_batches_of_nothing():
    windows = ContextWindows(texts.tokenizer(), **SETTINGS)
    rows = windows(tf.constant(["a"]), tf.constant(["é"]), fixed=True)
    assert rows["tokens"].shape == rows["legal"].shape == (1, 9)
    rows = windows(tf.zeros([0], tf.string), tf.zeros([0], tf.string))
    assert rows["tokens"].shape[0] == rows["windows"].shape[0] == 0


def test_there_must_be_room_for_both_texts():
    with pytest.raises(ValueError, match="Received: max_length=4"):
        read(["a"], ["a"], max_length=4)
