import random

import pytest
import tensorflow as tf

from keras_attn.text.segmentation.join_punctuation import join_punctuation
from keras_attn.text.segmentation.split import split_words

# As people write them.
SENTENCES = [
    "Hello, world!",
    "Really?! No... yes; well: no.",
    "I don't think it's Tom's, we'll see, they've gone and he'd know.",
    "The dogs' bones and the boys' room are James's.",
    "C'est l'homme qu'il a vu aujourd'hui, n'est-ce pas? S'il vous plaît.",
    "Nell'anno 1984, un'altra storia.",
    'He said, "I know (you) well," and left.',
    '"Yes," she said. "No," said he.',
    "She wrote: “Don’t!” and ‘so on’.",
    "Er sagte: „Das ist gut“, und ging (schnell).",
    "¿Qué tal? ¡Muy bien!",
    "«Привет», сказал он [тихо].",
    "It costs $3.50, or 1,234,567 in #4; at 10:30 it is 50% off.",
    "In 1984, 120 people came.",
    "A well-known and/or state-of-the-art idea… 3 × 4",
    "R & D – a dash — stays = apart",
    "a/b/c-d-e'f'g",
    "你好，世界！这是「书」。",
    "私は学生です。",
    "日本 and 中国",
    "[UNK] went to [UNK].",
    "",
    "word",
    "'tis so",
]


def spaced(text):
    words = split_words(tf.constant([text])).to_list()[0]
    return b" ".join(words).decode().replace("[ UNK ]", "[UNK]")


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_comes_back_as_it_was_written(sentence):
    joined = join_punctuation(tf.constant([spaced(sentence)]))
    assert joined.numpy()[0].decode() == sentence


@pytest.mark.parametrize(
    ("words", "text"),
    [
        # A hyphen is no dash, and a full stop between numbers no end.
        ("Yes - no", "Yes-no"),
        ("in 1999 . 3 left", "in 1999.3 left"),
        # A quote that nobody closes stands alone, as a ' does at the end.
        ('a " b', 'a " b'),
        ("the dogs '", "the dogs'"),
        ("5 $ and # tag", "5 $ and # tag"),
        ("3 , 5 and 3 , 5000", "3, 5 and 3, 5000"),
        ('" a " b " c "', '"a" b "c"'),
    ],
)
def test_what_is_ambiguous_is_decided_as_it_says(words, text):
    joined = join_punctuation(tf.constant([words]))
    assert joined.numpy()[0].decode() == text


def test_joining_loses_no_word():
    marks = [*",.;:!?%…)]}»”’([{«“„‘¿¡-/'\"$#&–"]
    words = ["a", "dogs", "s", "12", "345", "é", "世", "界", "。", "は", "ん"]
    draw = random.Random(0)
    texts = [
        " ".join(draw.choices([*marks, *words], k=draw.randrange(1, 12)))
        for _ in range(3000)
    ]
    joined = join_punctuation(tf.constant(texts))
    rows = split_words(joined).to_list()
    assert [b" ".join(row).decode() for row in rows] == texts
    assert tf.reduce_any(joined != texts)


def test_it_joins_in_a_graph_as_at_once():
    texts = tf.constant([spaced(sentence) for sentence in SENTENCES])
    in_graph = tf.function(join_punctuation)(texts)
    assert tf.reduce_all(in_graph == join_punctuation(texts))
