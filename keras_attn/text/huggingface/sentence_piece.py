"""Reads the models that SentencePiece writes: .spm, .model."""

import pathlib
import struct

from keras_attn.text.sentence_piece import precompiled_map

# Numbers of fields and values in sentencepiece_model.proto.
_PIECES, _TRAINER, _NORMALIZER = 1, 2, 3
_PIECE, _SCORE, _TYPE = 1, 2, 3
_NORMAL, _UNKNOWN, _USER_DEFINED = 1, 2, 4
_MODEL_TYPE, _AS_SUFFIX, _BYTE_FALLBACK = 3, 24, 35
_MAP, _DUMMY_PREFIX, _EXTRA_SPACES, _ESCAPE = 2, 3, 4, 5
_KINDS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}


def read(path: pathlib.Path) -> dict:
    """Read a unigram model.

    Args:
        path: The file.

    Returns:
        `pieces` in order of their ids, `scores`, `replacements`, and the other
        `arguments` of a `UnigramTokenizer`.
    """
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    try:
        return _read(path)
    except (IndexError, KeyError, struct.error, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} is no SentencePiece model, or is damaged: {error!r}"
        ) from None


def _read(path):
    whole = _fields(path.read_bytes())
    trainer = _fields(whole.get(_TRAINER, [b""])[-1])
    rules = _fields(whole.get(_NORMALIZER, [b""])[-1])
    kind = _last(trainer, _MODEL_TYPE, 1)
    if kind != 1:
        _refuse(path, "trainer_spec.model_type", _KINDS.get(kind, kind))
    if _last(trainer, _AS_SUFFIX, 0):
        _refuse(path, "trainer_spec.treat_whitespace_as_suffix", True)
    if not _last(rules, _ESCAPE, 1):
        _refuse(path, "normalizer_spec.escape_whitespaces", False)
    pieces = [*map(_piece, whole[_PIECES])]
    if _USER_DEFINED in {kind for _, _, kind in pieces}:
        _refuse(path, "a piece's type", "USER_DEFINED")
    unknown = [piece for piece, _, kind in pieces if kind == _UNKNOWN]
    if len(unknown) != 1:
        _refuse(path, "the number of UNKNOWN pieces", len(unknown))
    mapping = precompiled_map.entries(_last(rules, _MAP, b""))
    return {
        "pieces": [piece for piece, _, _ in pieces],
        "scores": {
            piece: score for piece, score, kind in pieces if kind == _NORMAL
        },
        "replacements": [mapping] if mapping else [],
        "arguments": {
            "spaces": "strip" if _last(rules, _EXTRA_SPACES, 1) else "keep",
            "prefix": "always" if _last(rules, _DUMMY_PREFIX, 1) else "never",
            "byte_fallback": bool(_last(trainer, _BYTE_FALLBACK, 0)),
            "arithmetic": "sentencepiece",
            "unknown_token": unknown[0],
        },
    }


def _piece(data):
    fields = _fields(data)
    (score,) = struct.unpack("<f", _last(fields, _SCORE, b"\0\0\0\0"))
    return fields[_PIECE][-1].decode(), score, _last(fields, _TYPE, _NORMAL)


def _last(fields, number, default):
    return fields.get(number, [default])[-1]


def _fields(data):
    """Values by number of a message in protobuf's wire format.

    The package protobuf refuses a second module for the same file, which
    several libraries bring along.
    """
    found, place = {}, 0
    while place < len(data):
        key, place = _varint(data, place)
        kind = key & 7
        if kind == 0:
            value, place = _varint(data, place)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if kind == 2:
                size, place = _varint(data, place)
            if size is None or place + size > len(data):
                raise IndexError(f"byte {place} of {len(data)}")
            value, place = data[place : place + size], place + size
        found.setdefault(key >> 3, []).append(value)
    return found


def _varint(data, place):
    number = shift = 0
    while True:
        byte = data[place]
        number |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return number, place


def _refuse(path, key, value):
    raise ValueError(
        f"{path}: {key} is {value!r}, which is not supported; unigram models "
        "with their usual settings are."
    )
