import tensorflow as tf

from keras_attn.data.tasks.segments import join_texts
from keras_attn.text.byte import ByteTokenizer

START, END = 2, 3


def letters(text):
    return ByteTokenizer()(text).numpy().tolist()


def test_one_text_stands_between_start_and_end():
    joined = join_texts(ByteTokenizer(), tf.constant(["ab", ""]))
    assert joined["tokens"].to_list() == [
        [START, *letters("ab"), END],
        [START, END],
    ]
    assert joined["segments"].to_list() == [[0] * 4, [0] * 2]


def test_the_second_of_two_texts_is_segment_one_with_its_end():
    joined = join_texts(
        ByteTokenizer(),
        tf.constant(["ab", "", "c"]),
        tf.constant(["d", "e", ""]),
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
