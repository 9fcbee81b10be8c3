import itertools

import hypothesis
import pytest
import tensorflow as tf
from hypothesis import strategies as st

from keras_attn.text import tables
from keras_attn.text.segmentation.longest_match import LongestMatch
from tests.text import textbook_word_piece

UNKNOWN = 77
PIECES = {b"un": 3, b"u": 0, b"aff": 9, b"##aff": 4, b"##a": 5, b"##able": 6}


class Owner:
    """Keeps the files of the tables."""


def matcher(owner, ids):
    opening = {p: i for p, i in ids.items() if not p.startswith(b"##")}
    following = {p[2:]: i for p, i in ids.items() if p.startswith(b"##")}
    return LongestMatch(
        opening,
        following,
        unknown_id=UNKNOWN,
        max_bytes=100,
        folder=tables.AssetFolder(owner),
    )


def match(ids, words):
    owner = Owner()
    outputs = matcher(owner, ids)(tf.constant(words, tf.string))
    pool, starts, counts = (output.numpy() for output in outputs)
    return [
        pool[start : start + count].tolist()
        for start, count in zip(starts, counts, strict=True)
    ]


def test_the_longest_piece_is_taken_each_time():
    words = [b"unaffable", b"una", b"u", b"aff", b"unaaff"]
    assert match(PIECES, words) == [[3, 4, 6], [3, 5], [0], [9], [3, 5, 4]]


def test_a_word_that_cannot_be_finished_is_unknown_as_a_whole():
    assert match(PIECES, [b"unable!", b"x", b"unaff", b"able"]) == [
        *([UNKNOWN], [UNKNOWN], [3, 4], [UNKNOWN])
    ]
    # "ab" is taken, though "a" would have led to the end.
    assert match({b"a": 0, b"ab": 1, b"##bc": 2}, [b"abc"]) == [[UNKNOWN]]


def test_no_words_have_no_pieces():
    assert match(PIECES, []) == []


@pytest.mark.parametrize("ids", [{b"a": 3}, {b"##a": 3}], ids=["no ##", "##"])
def test_pieces_of_one_kind_are_enough(ids):
    expected = [[3] if b"a" in ids else [UNKNOWN], [UNKNOWN]]
    assert match(ids, [b"a", b"aa"]) == expected


def test_a_word_of_more_than_100_bytes_is_unknown():
    ids = {b"a": 1, b"##a": 2}
    words = [b"a" * 100, b"a" * 101, b"a" * 10**6, b"aa"]
    assert match(ids, words) == [[1, *[2] * 99], [UNKNOWN], [UNKNOWN], [1, 2]]


def test_pieces_may_have_any_length():
    lengths = range(1, 101)
    ids = {b"a" * length: length for length in lengths}
    words = [b"a" * length for length in lengths]
    assert match(ids, words) == [[length] for length in lengths]
    words = [b"b" + word for word in words[:-1]]
    ids = {b"b": 0, **{b"##" + piece: id for piece, id in ids.items()}}
    assert match(ids, words) == [[0, length] for length in lengths[:-1]]


def test_halves_of_characters_are_no_pieces():
    # They differ in their last byte alone.
    ids = {"é".encode(): 1, "##é".encode(): 2, "##è".encode(): 3}
    words = ["é", "éè", "è", "éê"]
    assert match(ids, words) == [[1], [1, 3], [UNKNOWN], [UNKNOWN]]


@hypothesis.settings(deadline=None, derandomize=True, max_examples=25)
@hypothesis.given(data=st.data())
def test_it_is_the_textbook(data):
    text = st.text("ab\u00e9", min_size=1, max_size=7).map(str.encode)
    tokens = st.tuples(st.sampled_from([b"", b"##"]), text).map(b"".join)
    vocabulary = data.draw(st.sets(tokens, min_size=1, max_size=12))
    ids = {piece: number for number, piece in enumerate(sorted(vocabulary))}
    words = [
        "".join(letters).encode()
        for length in range(1, 6)
        for letters in itertools.product("ab\u00e9", repeat=length)
    ]
    assert match(ids, words) == [
        textbook_word_piece.pieces(word, ids, unknown=UNKNOWN) for word in words
    ]
