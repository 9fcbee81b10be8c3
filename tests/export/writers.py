"""Small models that write, with random weights, and their tokenizers."""

import numpy as np

from keras_attn.models import GPT
from keras_attn.models import Transformer
from keras_attn.text import WordTokenizer
from keras_attn.text.special_tokens import DEFAULT
from tests.models.stepping import set_random

SOURCE = WordTokenizer([*DEFAULT, *"abcdefgh"])
TARGET = WordTokenizer([*DEFAULT, *"stuvwxyz", "q"])
# With an id more than the models of `TARGET` know.
LARGER = WordTokenizer([*DEFAULT, *"stuvwxyz", "q", "r"])

# Every length from one token to more than are read, and what is no text.
TEXTS = [
    *(b"a", b"h g", b"b c d", b"a b c d", b"d c b a d", b"a a b b c c d d e"),
    *(b"", b"\xff\xfe", b"?"),
]
PROMPTS = [
    *(b"s", b"t u", b"v w x y", b"q q q q q q", b"s t u v w x y z s t"),
    *(b"", b"\xff\xfe", b"?"),
]


def transformer(**options):
    """A Transformer of two vocabularies whose answers differ in length."""
    model = Transformer(
        source_vocabulary_size=SOURCE.vocabulary_size,
        target_vocabulary_size=TARGET.vocabulary_size,
        num_layers=1,
        num_heads=2,
        units=8,
        **options,
    )
    set_random(model, np.random.default_rng(34), scale=0.6)
    return model


def gpt(**options):
    """A GPT whose answers differ in length."""
    model = GPT(
        TARGET.vocabulary_size,
        num_layers=1,
        num_heads=2,
        units=8,
        **{"max_length": 12, **options},
    )
    set_random(model, np.random.default_rng(3), scale=0.8)
    return model
