import pytest
import tensorflow as tf

from keras_attn.text.places.offsets import Offsets
from keras_attn.text.unigram import UnigramTokenizer

PIECES = ["▁", "▁the", "▁caf", "e", "s", "é", "▁in", ",", "i"]
TOKENS = ["<pad>", "<unk>", "<s>", "</s>", *PIECES]
MAPS = [{"É": "é", "e\u0301": "é", "ﬁ": "fi", "\u200d": "", "\u00b4": " '"}]


def tokenizer(**options):
    scores = {piece: -1.0 - len(PIECES) / len(piece) for piece in PIECES}
    return UnigramTokenizer(TOKENS, scores, MAPS, **options)


def pieces_of(texts):
    made = tokenizer()
    ids = made(texts)
    starts, ends = Offsets(made)(tf.constant(texts), ids)
    return [
        [(TOKENS[i], text[a:b]) for i, a, b in zip(*row, strict=True)]
        for text, *row in zip(
            texts, ids.to_list(), starts.to_list(), ends.to_list(), strict=True
        )
    ]


def test_what_is_replaced_is_found_in_the_original():
    assert pieces_of(["the  cafÉs, in", "", "caf\u200de the"]) == [
        [
            ("▁the", "the"),
            ("▁caf", "caf"),
            ("é", "É"),
            ("s", "s"),
            (",", ","),
            ("▁in", "in"),
        ],
        [],
        [("▁caf", "caf"), ("e", "e"), ("▁the", "the")],
    ]


def test_an_unknown_token_takes_what_its_word_leaves():
    assert pieces_of(["the XYs, in", "XY"]) == [
        [
            ("▁the", "the"),
            ("▁", ""),
            ("<unk>", "XY"),
            ("s", "s"),
            (",", ","),
            ("▁in", "in"),
        ],
        [("▁", ""), ("<unk>", "XY")],
    ]


def test_neighbours_that_become_one_do_not_move_the_words_after():
    (row,) = pieces_of(["cafe\u0301s the \u00b4in in"])
    assert row[0] == ("▁caf", "caf")
    assert row[3] == ("▁the", "the") and row[-1] == ("▁in", "in")


def test_texts_whose_words_are_not_marked_are_refused():
    with pytest.raises(ValueError, match=r'prefix="never"'):
        Offsets(tokenizer(prefix="never"))
