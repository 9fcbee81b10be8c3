import random

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.text import tables
from keras_attn.text.sentence_piece.unigram_pieces import UnigramPieces
from tests.text.textbook_viterbi import by_the_book
from tests.text.textbook_viterbi import random_scores


def cut(scores, rows, *, whole_text):
    holder = tf.Module()
    cutter = UnigramPieces(
        scores, whole_text=whole_text, folder=tables.AssetFolder(holder)
    )
    pieces, starts = cutter(tf.ragged.constant(rows, dtype=tf.string))
    names = [*scores]
    found = [
        [names[number] if number >= 0 else None for number in row]
        for row in pieces.to_list()
    ]
    return found, starts.numpy().tolist()


@pytest.fixture(scope="module")
def rows():
    rng = random.Random(0)
    return [
        [
            "▁" + "".join(rng.choices("aaabx", k=rng.randrange(9)))
            for _ in range(n)
        ]
        for n in [*range(12)] * 8
    ]


def test_words_are_cut_by_themselves(rows):
    scores = random_scores(random.Random(1), "▁ab", 60, digits=1)
    # No word has a mark within.
    found, _ = cut(scores, rows, whole_text=False)
    assert found == [
        [piece for word in row for piece in by_the_book(word, scores)]
        for row in rows
    ]


@pytest.mark.parametrize("crossed", [False, True])
def test_whole_texts_are_rounded_from_their_start(rows, crossed):
    # Sums that are equal, but for rounding.
    scores = {"a" * n: -0.7 * n for n in range(1, 5)} | {"b": -0.9}
    scores |= {f"▁{piece}": score - 0.7 for piece, score in scores.items()}
    scores["▁"] = -2.3
    if crossed:
        scores["b▁a"] = -1.1
    found, _ = cut(scores, rows, whole_text=True)
    texts = ["".join(row) for row in rows]
    exact = [by_the_book(text, scores, np.float32) for text in texts]
    assert found == exact
    # Rounding does matter here.
    assert exact != [by_the_book(text, scores) for text in texts]


def test_starts_are_those_of_words_or_texts():
    scores = {"▁": -1.0, "a": -1.0, "▁a": -1.5}
    rows = [["▁a", "▁aa"], [], ["▁"]]
    found, starts = cut(scores, rows, whole_text=False)
    assert found == [["▁a", "▁a", "a"], [], ["▁"]]
    assert starts == [True, True, False, True]
    _, starts = cut(scores, rows, whole_text=True)
    assert starts == [True, False, False, True]
