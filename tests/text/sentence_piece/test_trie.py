import random

import tensorflow as tf

from keras_attn.text import tables
from keras_attn.text.sentence_piece.trie import END
from keras_attn.text.sentence_piece.trie import Trie


class Owner:
    """Lives as long as the test."""


def find(keys, texts):
    owner = Owner()
    trie = Trie(keys, folder=tables.AssetFolder(owner), name="keys.txt")
    codes = [code for text in texts for code in [*map(ord, text), END]]
    places, lengths, values = trie(tf.constant(codes, tf.int64))
    assert lengths.numpy().tolist() == sorted(lengths.numpy())
    found = tf.stack([places, lengths, values], axis=1).numpy().tolist()
    return {*map(tuple, found)}


def test_every_key_is_found_at_every_place():
    rng = random.Random(0)
    keys = {"a": 7, "ab": 0, "aba": 3, "\U0001f600b": 5, "bb": 2, "\n": 1}
    texts = ["".join(rng.choices("ab\n\U0001f600c", k=k)) for k in range(30)]
    expected, start = set(), 0
    for text in texts:
        for place in range(len(text)):
            for key, value in keys.items():
                if text.startswith(key, place):
                    expected.add((start + place, len(key), value))
        start += len(text) + 1
    assert len({value for *_, value in expected}) > 3
    assert find(keys, texts) == expected


def test_no_key_goes_from_one_text_into_the_next():
    assert find({"ab": 0}, ["a", "b"]) == set()


def test_there_may_be_no_text():
    assert find({"a": 0}, []) == set()
