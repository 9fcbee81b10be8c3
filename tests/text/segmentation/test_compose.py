import random
import unicodedata

import pytest
import tensorflow as tf

from keras_attn.text import tables
from keras_attn.text.segmentation.compose import Compose

# Accents in any order, Korean letters, signs that decompose for good, and
# letters that compose with letters.
LETTERS = "aeoiAEOsnzκαωикか क"
MARKS = "\u0301\u0300\u0323\u0308\u0302\u0327\u0345\u094d\u093c\u3099\u0334"
KOREAN = "\u1100\u1112\u1161\u1175\u11a7\u11a8\u11c2가각힣"
OTHERS = (
    "\u0344\u0958\u212b\u2126\u0374\u1e9b\u0fb9\ufb1f\u09c7\u09be\U0001d15e"
)


@pytest.fixture(scope="module")
def compose():
    owner = tf.Module()
    owner.compose = Compose(tables.AssetFolder(owner))
    owner.run = tf.function(
        owner.compose, input_signature=[tf.TensorSpec([None], tf.string)]
    )
    return owner


def texts(count):
    draw = random.Random(0)
    pools = [LETTERS + MARKS * 2, KOREAN, LETTERS + MARKS + KOREAN + OTHERS]
    return [
        "".join(draw.choices(draw.choice(pools), k=draw.randrange(12)))
        for _ in range(count)
    ]


def test_text_is_composed_as_python_does(compose):
    given = texts(5000)
    expected = [unicodedata.normalize("NFC", text) for text in given]
    assert sum(a != b for a, b in zip(given, expected, strict=True)) > 1000
    composed = compose.run(tf.constant(given)).numpy()
    assert [text.decode() for text in composed] == expected


def test_every_code_point_is_composed_as_python_does(compose):
    signs = [
        chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000
    ]
    given = ["a" + "a".join(signs[i : i + 64]) for i in range(0, 65536, 64)]
    composed = compose.run(tf.constant(given)).numpy()
    for text, got in zip(given, composed, strict=True):
        assert got.decode() == unicodedata.normalize("NFC", text)


def test_a_million_marks_are_composed_in_a_few_rounds(compose):
    text = "e" + "\u0301" * 300_000 + "e\u0301" * 100_000
    composed = compose.run(tf.constant([text])).numpy()[0].decode()
    assert composed == unicodedata.normalize("NFC", text)


def test_strings_that_are_no_text_are_left_alone(compose):
    given = [b"e\xcc\x81\xff", b"\xcc", "e\u0301".encode(), b"", b"a\0b"]
    assert compose.run(tf.constant(given)).numpy().tolist() == [
        *given[:2],
        "é".encode(),
        *given[3:],
    ]
