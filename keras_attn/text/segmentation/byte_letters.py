"""Bytes spelled as printable letters, as GPT-2's files spell them."""

import tensorflow as tf


def _letters():
    """The letter of each byte, 0 to 255.

    Printable characters of Latin-1 stand for themselves. The other bytes
    (control characters, spaces, the soft hyphen) get the characters from
    U+0100 on, in their order.
    """
    themselves = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return tuple(
        chr(byte if byte in themselves else next(others)) for byte in range(256)
    )


BYTE_LETTERS = _letters()
_BYTES = {letter: byte for byte, letter in enumerate(BYTE_LETTERS)}


def spell(data: bytes) -> str:
    """Write bytes as letters: b"a b" is "aĠb"."""
    return "".join(BYTE_LETTERS[byte] for byte in data)


def read(letters: str) -> bytes | None:
    """Turn letters back into bytes; None if they are not all letters."""
    if not all(letter in _BYTES for letter in letters):
        return None
    return bytes(_BYTES[letter] for letter in letters)


def to_bytes(strings):
    """Turn letters back into bytes, in graph.

    Args:
        strings: (batch,) strings of letters.

    Returns:
        (batch,) strings of the bytes they stand for.
    """
    size = ord(max(BYTE_LETTERS)) + 1
    pieces = [bytes([_BYTES.get(chr(code), 0)]) for code in range(size)]
    codes = tf.strings.unicode_decode(strings, "UTF-8")
    return tf.strings.reduce_join(tf.gather(tf.constant(pieces), codes), -1)
