import string
import unicodedata

import pytest
import tensorflow as tf

from keras_attn.text.segmentation.split import CHINESE
from keras_attn.text.segmentation.split import PUNCTUATION
from keras_attn.text.segmentation.split import WHITE_SPACE
from keras_attn.text.segmentation.split import code_points
from keras_attn.text.segmentation.split import split_words

EVERY_CODE_POINT = [
    chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000
]


def words(text, **options):
    split = split_words(tf.constant([text]), **options)
    return [word.decode() for word in split.to_list()[0]]


def kinds(split):
    """How each code point between two letters was split: 1, 2 or 3 words."""
    between = [f"a{character}b" for character in EVERY_CODE_POINT]
    return split(tf.constant(between)).row_lengths().numpy().tolist()


def test_punctuation_and_chinese_characters_are_words():
    assert words("Don't stop-me: now!!") == [
        *("Don", "'", "t", "stop", "-", "me", ":", "now", "!", "!")
    ]
    assert words("\u4f60\u597d\uff0c\u4e16\u754c") == [
        *"\u4f60\u597d，\u4e16\u754c"
    ]
    assert words("«\u202fOui\u00a0!\u202f»") == ["«", "Oui", "!", "»"]


def test_words_may_end_at_white_space_alone():
    text = "Don't\u2003stop-me:\t now!!\u3000\u4f60\u597d\n"
    assert words(text, punctuation=False) == [
        *("Don't", "stop-me:", "now!!", "\u4f60\u597d")
    ]


def test_white_space_may_be_a_letter_but_after_punctuation():
    assert words("a\u00a0b\u2003c", letters="\u00a0") == ["a\u00a0b", "c"]
    assert words("«\u00a0a\u00a0»", letters="\u00a0") == ["«", "a\u00a0", "»"]


def test_no_word_is_empty():
    split = split_words(tf.constant(["", "  ", "a  b ", "\u3000"]))
    assert split.to_list() == [[], [], [b"a", b"b"], []]
    assert split_words(tf.constant([], tf.string)).to_list() == []


def test_bytes_that_are_not_utf8_are_letters():
    split = split_words(tf.constant([b"a\xff.\xc3 \xe2\x82b"]))
    assert split.to_list() == [[b"a\xff", b".", b"\xc3", b"\xe2\x82b"]]


def test_every_code_point_is_what_the_tables_say():
    alone = {*code_points(PUNCTUATION), *code_points(CHINESE)}
    space = {*code_points(WHITE_SPACE)}
    expected = [
        3 if ord(character) in alone else 2 if ord(character) in space else 1
        for character in EVERY_CODE_POINT
    ]
    assert kinds(split_words) == expected


def test_the_tables_hold_what_python_calls_punctuation_and_white_space():
    marks = {*code_points(PUNCTUATION)}
    spaces = {*code_points(WHITE_SPACE)}
    for character in EVERY_CODE_POINT:
        code, category = ord(character), unicodedata.category(character)
        if category != "Cn":  # Python's Unicode may be the older one
            is_mark = category[0] == "P" or character in string.punctuation
            assert (code in marks) == is_mark, hex(code)
        if category[0] == "Z":
            assert code in spaces, hex(code)


@pytest.mark.peers
def test_every_code_point_splits_as_in_tensorflow_text():
    import tensorflow_text

    # Of "a.b" both letters are known and the sign is not; all other words are
    # unknown, so that the number of tokens is the number of words.
    tokenizer = tensorflow_text.FastWordpieceTokenizer(["[UNK]", "a", "b"])
    assert kinds(split_words) == kinds(tokenizer.tokenize)
