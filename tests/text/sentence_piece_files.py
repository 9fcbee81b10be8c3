"""SentencePiece's models: tiny ones written by hand, real ones trained."""

import io
import random
import struct

from tests.text.real_text import sentences

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6


def model_proto(pieces, *, trainer=None, normalizer=None):
    """A model in protobuf's wire format.

    Args:
        pieces: (piece, score, type) in order of their ids.
        trainer: Value by number of a field of `trainer_spec`.
        normalizer: The same of `normalizer_spec`.
    """
    data = b"".join(
        _field(
            1, _field(1, piece.encode()) + _field(2, score) + _field(3, kind)
        )
        for piece, score, kind in pieces
    )
    for number, fields in ((2, trainer), (3, normalizer)):
        inner = b"".join(_field(*field) for field in (fields or {}).items())
        data += _field(number, inner)
    return data


def _field(number, value):
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(number):
    data = b""
    while number >= 0x80:
        data += bytes([number & 0x7F | 0x80])
        number >>= 7
    return data + bytes([number])


def trained(lines, *, rule="nmt_nfkc", byte_fallback=False, size=1500):
    """What the real trainer makes of lines."""
    import sentencepiece

    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=file,
        vocab_size=size,
        normalization_rule_name=rule,
        remove_extra_whitespaces=rule != "identity",
        byte_fallback=byte_fallback,
        character_coverage=0.995,
        num_threads=1,
        minloglevel=2,
    )
    return file.getvalue()


def real_and_fuzzed(real=20_000, fuzzed=2_000):
    """Lines of docstrings and names of emoji, and odd Unicode."""
    rng = random.Random(0)
    ranges = [(1, 0x300), (0x300, 0x370), (0x370, 0x3100), (0x1100, 0x1200)]
    ranges += [(0xAC00, 0xB000), (0xF900, 0xFFFE), (0x10000, 0x20000)]
    odd = [chr(rng.randrange(*rng.choice(ranges))) for _ in range(400)]
    letters = [*odd, *"aeions aeions aeions  ▁"]
    return sentences(real) + [
        "".join(rng.choices(letters, k=rng.randrange(40)))
        for _ in range(fuzzed)
    ]
