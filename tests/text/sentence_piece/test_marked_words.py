import pytest
import tensorflow as tf

from keras_attn.text.sentence_piece.marked_words import split_words

TEXTS = ["so it", " a  b ", "", "  ", "x▁", "▁ x", "a\tb"]


def words(spaces, prefix, sentencepiece):
    rows = split_words(
        tf.constant(TEXTS),
        spaces=spaces,
        prefix=prefix,
        sentencepiece=sentencepiece,
    )
    return ["|".join(word.decode() for word in row) for row in rows.to_list()]


@pytest.mark.parametrize(
    ("spaces", "prefix", "sentencepiece", "expected"),
    [
        (
            *("strip", True, True),
            ["▁so|▁it", "▁a|▁b", "", "", "▁x", "▁▁|▁x", "▁a\tb"],
        ),
        (
            *("strip", False, True),
            ["so|▁it", "a|▁b", "", "", "x", "▁|▁x", "a\tb"],
        ),
        (
            *("keep", True, True),
            [
                *("▁so|▁it", "▁|▁a|▁|▁b|▁", "", "▁|▁|▁", "▁x▁", "▁▁|▁x"),
                "▁a\tb",
            ],
        ),
        (
            *("keep", False, True),
            ["so|▁it", "▁a|▁|▁b|▁", "", "▁|▁", "x▁", "▁|▁x", "a\tb"],
        ),
        (
            *("keep", True, False),
            ["▁so|▁it", "▁a|▁|▁b|▁", "", "▁|▁", "▁x|▁", "▁|▁x", "▁a\tb"],
        ),
        (
            *("collapse", True, False),
            ["▁so|▁it", "▁a|▁b|▁", "", "▁", "▁x|▁", "▁|▁x", "▁a\tb"],
        ),
        (
            *("strip", True, False),
            ["▁so|▁it", "▁a|▁b", "", "", "▁x|▁", "▁|▁x", "▁a\tb"],
        ),
        (
            *("collapse", False, False),
            ["so|▁it", "▁a|▁b|▁", "", "▁", "x|▁", "▁|▁x", "a\tb"],
        ),
    ],
)
def test_spaces_become_marks(spaces, prefix, sentencepiece, expected):
    assert words(spaces, prefix, sentencepiece) == expected


@pytest.mark.parametrize("spaces", ["strip", "collapse", "keep"])
def test_a_mark_in_another_text_changes_nothing(spaces):
    texts = tf.constant(["so  it ", " a", "b"])
    options = {"spaces": spaces, "prefix": True, "sentencepiece": False}
    alone = split_words(texts, **options).to_list()
    beside = split_words(tf.concat([texts, ["▁"]], 0), **options).to_list()
    assert beside[:-1] == alone


def test_texts_may_differ_in_their_prefix():
    rows = split_words(
        tf.constant(["a b", "a b"]),
        spaces="strip",
        prefix=tf.constant([True, False]),
        sentencepiece=False,
    )
    assert rows.to_list() == [
        ["▁a".encode(), "▁b".encode()],
        [b"a", "▁b".encode()],
    ]
