import pytest
import tensorflow as tf

from keras_attn.data.tasks import captioning
from keras_attn.data.tasks import language_model
from keras_attn.data.tasks import masked_language_model
from keras_attn.data.tasks import text_classification
from keras_attn.data.tasks import translation
from keras_attn.export.graph import text_pairs
from keras_attn.export.tasks import generative_task
from keras_attn.export.tasks import text_generation
from keras_attn.export.tasks import translation as served_translation
from keras_attn.text import layouts
from keras_attn.text.byte import ByteTokenizer
from keras_attn.text.character import CharacterTokenizer
from keras_attn.text.template import Template

START, END = 2, 3


@pytest.mark.parametrize(
    ("name", "users"),
    [
        ("source_row", [translation, served_translation]),
        ("prompt_row", [text_generation]),
        ("with_start", [translation, captioning]),
        (
            "with_end",
            [translation, generative_task, captioning, language_model],
        ),
        (
            "join_pair",
            [masked_language_model, text_classification, text_pairs],
        ),
    ],
)
def test_training_and_serving_call_the_same_function(name, users):
    for user in users:
        assert getattr(user, name) is getattr(layouts, name)


def rows(*texts):
    return ByteTokenizer()(tf.constant(texts))


def letters(text):
    return ByteTokenizer()(text).numpy().tolist()


def test_one_text_stands_between_start_and_end():
    joined = layouts.join_pair(ByteTokenizer(), rows("ab", ""))
    assert joined["tokens"].to_list() == [
        [START, *letters("ab"), END],
        [START, END],
    ]
    assert joined["segments"].to_list() == [[0] * 4, [0] * 2]


def test_the_second_of_two_texts_is_segment_one_with_its_end():
    joined = layouts.join_pair(
        ByteTokenizer(), rows("ab", "", "c"), rows("d", "e", "")
    )
    assert joined["tokens"].to_list() == [
        [START, *letters("ab"), END, *letters("d"), END],
        [START, END, *letters("e"), END],
        [START, *letters("c"), END, END],
    ]
    assert joined["segments"].to_list() == [
        [0, 0, 0, 0, 1, 1],
        [0, 0, 1, 1],
        [0, 0, 0, 1],
    ]
    assert joined["tokens"].dtype == joined["segments"].dtype == tf.int32


def test_a_missing_special_token_is_named():
    assert layouts.special_id(ByteTokenizer(), "end") == END
    tokenizer = CharacterTokenizer(["[UNK]", "a"])
    with pytest.raises(ValueError, match=r"no END token.*special_tokens"):
        layouts.special_id(tokenizer, "end")


def test_a_source_ends_with_end_whatever_its_order():
    tokenizer, ids = ByteTokenizer(), rows("abc", "")
    a, b, c = letters("abc")
    source = layouts.source_row(tokenizer, ids, start=True, reverse=True)
    assert source.to_list() == [[START, c, b, a, END], [START, END]]
    assert layouts.source_row(tokenizer, ids).to_list() == [
        [a, b, c, END],
        [END],
    ]


def test_a_single_text_is_laid_out_like_a_row():
    tokenizer = ByteTokenizer()
    ids = tokenizer(tf.constant("ab"))
    row = layouts.with_start(tokenizer, layouts.with_end(tokenizer, ids))
    assert row.numpy().tolist() == [START, *letters("ab"), END]
    source = layouts.source_row(tokenizer, ids, reverse=True)
    assert source.numpy().tolist() == [*letters("ba"), END]


@pytest.mark.parametrize("room", range(1, 12))
def test_a_pair_keeps_as_much_as_there_is_room_for(room):
    first, second = (
        rows("", "abc", "abcdefg", "ab"),
        rows("xyz", "x", "xyz", ""),
    )
    short, short_second, truncated = layouts.truncate_pair(first, second, room)
    lengths = first.row_lengths() + second.row_lengths()
    kept = short.row_lengths() + short_second.row_lengths()
    assert kept.numpy().tolist() == tf.minimum(lengths, room).numpy().tolist()
    assert truncated.numpy().tolist() == (lengths > room).numpy().tolist()
    for whole, part in ((first, short), (second, short_second)):
        for ids, head in zip(whole.to_list(), part.to_list(), strict=True):
            assert ids[: len(head)] == head


def test_a_template_says_what_stands_around_texts():
    tokenizer, ids = ByteTokenizer(), rows("ab", "")
    assert layouts.prompt_row(tokenizer, ids) is ids
    assert layouts.prompt_special(tokenizer) == 0
    assert layouts.source_special(tokenizer, start=True) == 2
    assert layouts.pair_special(tokenizer, 2) == 3
    one = [[7, 0], ["A", 0]]
    tokenizer.template = Template(one, [*one, [8, 0], [8, 0], ["B", 0]])
    expected = [[7, *letters("ab")], [7]]
    assert layouts.prompt_row(tokenizer, ids).to_list() == expected
    assert layouts.source_row(tokenizer, ids, start=True).to_list() == expected
    backwards = layouts.source_row(tokenizer, ids, reverse=True)
    assert backwards.to_list() == [[7, *letters("ba")], [7]]
    joined = layouts.join_pair(tokenizer, ids, rows("", "c"))
    assert joined["tokens"].to_list() == [
        [7, *letters("ab"), 8, 8],
        [7, 8, 8, *letters("c")],
    ]
    assert layouts.prompt_special(tokenizer) == 1
    assert layouts.source_special(tokenizer) == 1
    assert layouts.pair_special(tokenizer, 1) == 1
    assert layouts.pair_special(tokenizer, 2) == 3
