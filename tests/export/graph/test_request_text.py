import tensorflow as tf

from keras_attn.export.graph import request_text
from keras_attn.text import ByteTokenizer
from keras_attn.text import WordTokenizer
from keras_attn.text.special_tokens import DEFAULT

WORDS = WordTokenizer([*DEFAULT, "a", "b", "c"])
TEXTS = [b"a b c", b"", b" ", b"\xff a", b"b", b"nothing known"]


def read(texts, room, **options):
    ids, *flags = request_text.read(WORDS, tf.constant(texts), room, **options)
    return ids.to_list(), *(flag.numpy().tolist() for flag in flags)


def test_each_text_is_told_valid_and_truncated_by_itself():
    ids, valid, truncated = read(TEXTS, 2)
    assert ids == [[5, 6], [], [], [], [6], [1, 1]]
    assert valid == [True, False, False, False, True, True]
    assert truncated == [True] + [False] * 5


def test_a_long_text_may_keep_its_end():
    ids, _, truncated = read(TEXTS, 2, from_end=True)
    assert ids == [[6, 7], [], [], [], [6], [1, 1]]
    assert truncated == [True] + [False] * 5


def test_a_text_that_just_fits_is_whole():
    for from_end in (False, True):
        ids, _, truncated = read([b"a b c"], 3, from_end=from_end)
        assert ids == [[5, 6, 7]]
        assert truncated == [False]


def test_no_text_is_no_trouble():
    ids, valid, _ = request_text.read(
        ByteTokenizer(), tf.zeros([0], tf.string), 3
    )
    assert ids.nrows() == 0
    assert valid.shape == [0]
