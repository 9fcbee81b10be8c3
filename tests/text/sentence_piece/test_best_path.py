import random

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.text import tables
from keras_attn.text.sentence_piece.best_path import BestPath
from keras_attn.text.sentence_piece.trie import Trie
from tests.text.textbook_viterbi import by_the_book
from tests.text.textbook_viterbi import random_scores


def cutter(scores, **options):
    options = {"most": 1000, **options}
    keys = {piece: number for number, piece in enumerate(scores)}
    trie = Trie(keys, folder=tables.AssetFolder(scorer := Owner()), name="k")
    best = BestPath(
        trie,
        np.array([*scores.values()]),
        unknown_score=min(scores.values()) - 10.0,
        **options,
    )
    best.owner = scorer
    return best


class Owner:
    """Lives as long as the test."""


def cut(best, scores, words):
    pieces, margins = best(tf.strings.unicode_decode(words, "UTF-8"))
    names = [*scores]
    rows = [
        [names[number] if number >= 0 else None for number in row]
        for row in pieces.to_list()
    ]
    return rows, margins.numpy()


@pytest.mark.parametrize("digits", [None, 0])
@pytest.mark.parametrize("float32", [False, True])
def test_matches_the_equation(float32, digits):
    rng = random.Random(0)
    scores = random_scores(rng, "abcé", 40, digits=digits)
    words = ["".join(rng.choices("abcéx", k=k)) for k in range(40)] * 3
    dtype = np.float32 if float32 else np.float64
    rows, _ = cut(cutter(scores, float32=float32), scores, words)
    assert rows == [by_the_book(word, scores, dtype) for word in words]
    assert any(None in row for row in rows)


def test_of_equal_sums_the_longest_last_piece_wins():
    scores = {"a": -1.0, "aa": -2.0, "b": -5.0}
    rows, margins = cut(cutter(scores), scores, ["aaa", "b"])
    assert rows == [["a", "aa"], ["b"]]
    assert margins[0] == 0.0 and margins[1] > 1e300


def test_an_unknown_character_is_minus_its_code_point():
    best = cutter({"a": -1.0})
    pieces, _ = best(tf.strings.unicode_decode(["aé\0"], "UTF-8"))
    assert pieces.to_list() == [[0, -1 - ord("é"), -1]]


def test_the_margin_is_what_the_path_leads_by():
    scores = {"a": -1.0, "b": -1.5, "ab": -2.25}
    _, margins = cut(cutter(scores), scores, ["ab", "abb"])
    np.testing.assert_allclose(margins, [0.25, 0.25])


def test_words_that_are_too_long_are_cut():
    scores = {"a": -1.0, "aa": -1.5, "aaa": -1.75}
    rows, _ = cut(cutter(scores, most=4), scores, ["aaaaaa", "", "aaa"])
    assert rows == [["a", "aaa", "aa"], [], ["aaa"]]


def test_there_may_be_no_word():
    pieces, margins = cutter({"a": -1.0})(
        tf.RaggedTensor.from_row_splits(
            tf.zeros([0], tf.int32), tf.constant([0], tf.int64)
        )
    )
    assert pieces.to_list() == [] and margins.shape == (0,)
