"""A tiny BERT with its tokenizer, and texts to ask it about."""

import numpy as np
import tensorflow as tf

from keras_attn.models import BERT
from keras_attn.text import WordPieceTokenizer
from keras_attn.text.layouts import join_pair
from keras_attn.text.special_tokens import DEFAULT

PIECES = ["the", "cat", "cats", "sat", "##s", "on", "mat", "!", ",", "a", "é"]
MAX_LENGTH = 9

# Batches of 0, 1, 3 and 8 rows; the longest that is read whole has 7 tokens.
BATCHES = [
    [],
    ["the cat sat"],
    ["é", "a mats , é!", "the cat sat on the mat !"],
    ["a", "é", "cat", "cats", "zebra", "the " * 7, " a ", "cats cats"],
]
# The same with a second text, of 6 tokens together.
PAIRS = [
    ([], []),
    (["the cat"], ["on the mat"]),
    (["a", "the cats sat", "é"], ["é , é", "on the cats", "zebra"]),
    (
        [*BATCHES[3][:5], "the", "a", "on"],
        [*BATCHES[3][:5], "é", "!", "mat"],
    ),
]
BAD = [b"the cat", b"\xff the cat", b"the " * 8, b"cat \xe2\x82", b""]
BAD_VALID = [True, False, True, False, False]
BAD_TRUNCATED = [False, False, True, False, False]


def tokenizer(**options):
    return WordPieceTokenizer([*DEFAULT, *PIECES], **options)


def bert(head=None, **options):
    """A model whose every weight matters."""
    options = {
        "vocabulary_size": len(DEFAULT) + len(PIECES),
        "num_layers": 1,
        "num_heads": 2,
        "units": 8,
        "hidden_dim": 12,
        "max_length": MAX_LENGTH,
        **options,
    }
    model = BERT(head=head, **options)
    rng = np.random.default_rng(0)
    for variable in model.trainable_variables:
        variable.assign(rng.normal(size=variable.shape, scale=0.5))
    return model


def as_bytes(rows):
    rows = [row.encode() if isinstance(row, str) else row for row in rows]
    return np.array(rows, dtype=object)


def text_requests(verb):
    """Every batch, and the bad rows at the end."""
    return [(verb, {"text": as_bytes(rows)}) for rows in [*BATCHES, BAD]]


def pair_requests(verb):
    """Every batch of pairs."""
    return [
        (verb, {"text": as_bytes(text), "text_pair": as_bytes(text_pair)})
        for text, text_pair in PAIRS
    ]


def call_as_trained(model, text, text_pair=None):
    """What the model says of rows laid out by the training pipeline."""
    given = [text] if text_pair is None else [text, text_pair]
    ids = [tokenizer()(tf.constant(as_bytes(rows))) for rows in given]
    rows = join_pair(tokenizer(), *ids)
    return model({name: ids.to_tensor() for name, ids in rows.items()})
