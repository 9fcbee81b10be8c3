import random

import pytest
import tensorflow as tf

from keras_attn.text import tables
from keras_attn.text.sentence_piece.character_map import CharacterMap

MAPPING = {"ﬁ": "fi", "\t": " ", "\x01": "", "a\u0301": "á", "\u0301": "'"}
MAPPING |= {"bb": "B", "bbb": "C", "ba\u0301": "D", "\ufdfa": "x" * 18}


@pytest.fixture(scope="module")
def replace():
    # The table's file lives as long as its owner.
    holder = tf.Module()
    folder = tables.AssetFolder(holder)
    holder.map = CharacterMap(MAPPING, folder=folder, name="map.txt")
    return lambda texts: [
        text.decode()
        for text in holder.map(tf.constant(texts, tf.string)).numpy()
    ]


def by_the_book(text):
    result = ""
    while text:
        lengths = [n for n in (3, 2, 1) if text[:n] in MAPPING]
        length = lengths[0] if lengths else 1
        result += MAPPING.get(text[:length], text[:length])
        text = text[length:]
    return result


def test_the_longest_key_is_replaced_from_the_left(replace):
    texts = [
        "bbbb bbbbb",
        "aa\u0301\u0301",
        "bba\u0301",
        "ﬁ\ufdfa\x01",
        "",
        "x",
    ]
    assert replace(texts) == [
        *("Cb CB", "aá'", "Ba'".replace("a'", "á"), "fi" + "x" * 18, "", "x")
    ]


def test_random_texts_are_replaced_as_by_hand(replace):
    rng = random.Random(0)
    letters = "aabbbﬁ\t\x01\u0301\u0301\ufdfaé漢\0\n"
    texts = ["".join(rng.choices(letters, k=k % 30)) for k in range(300)]
    assert replace(texts) == [by_the_book(text) for text in texts]


def test_only_what_changes_is_read(replace):
    # Bytes that are not UTF-8 are not plain text.
    assert replace([b"abc\xff"]) == ["abc\ufffd"]
    assert replace([]) == []
