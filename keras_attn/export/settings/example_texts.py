"""Texts to try a servable with, made of its own vocabulary."""

import numpy as np

from keras_attn.text.tokenizer import Tokenizer

# Enough to find ordinary words in: a vocabulary may have a hundred thousand.
_LOOKED_AT = 2_000
_NUM_WORDS = 5
_MOST_DOUBLINGS = 8

# Looks like no text at all: 0xFF is never part of UTF-8.
BROKEN = b"\xff"


def sentences(tokenizer: Tokenizer) -> list[bytes]:
    """A text of one token, one of three and one of five, as a rule."""
    words = _words(tokenizer)
    texts = [words[:1], words[:3][::-1], words]
    return [tokenizer.detokenize(ids).numpy() for ids in texts]


def too_long(tokenizer: Tokenizer, room: int) -> bytes:
    """A text of more than `room` tokens."""
    ids = np.resize(_words(tokenizer), room + 1)
    for _ in range(_MOST_DOUBLINGS):
        text = tokenizer.detokenize(ids).numpy()
        if len(tokenizer(text)) > room:
            return text
        # Read together, tokens may become one.
        ids = np.tile(ids, 2)
    raise ValueError(
        f"No text of {type(tokenizer).__name__}'s own words has more than "
        f"{room} tokens. Give a smaller length."
    )


def odd(tokenizer: Tokenizer, room: int) -> list[bytes]:
    """A text of nothing, one that is too long, and what is no text."""
    return [b"", too_long(tokenizer, room), BROKEN]


def _words(tokenizer):
    """Ids, far apart in the vocabulary, that alone read as plain text."""
    ids = np.arange(min(tokenizer.vocabulary_size, _LOOKED_AT))
    texts = tokenizer.detokenize(ids[:, None]).numpy()
    special = set(tokenizer.special_tokens.values())
    plain = [
        number
        for number, text in zip(ids, texts, strict=True)
        if tokenizer.vocabulary[number] not in special and _is_plain(text)
    ]
    # A vocabulary of nothing but signs has to do with them.
    plain = plain or [tokenizer.vocabulary_size - 1]
    places = np.linspace(0, len(plain) - 1, _NUM_WORDS).round().astype(int)
    return np.array(plain)[places]


def _is_plain(text):
    text = text.decode(errors="replace")
    return text.strip().isalnum()
