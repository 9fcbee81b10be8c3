import pytest
import tensorflow as tf

from keras_attn.text.segmentation import byte_letters
from keras_attn.text.segmentation.byte_letters import BYTE_LETTERS

EVERY_BYTE = bytes(range(256))


def test_printable_latin_letters_stand_for_themselves():
    for byte in (0x21, 0x41, 0x7E, 0xA1, 0xAC, 0xAE, 0xFF):
        assert BYTE_LETTERS[byte] == chr(byte)


def test_the_other_bytes_follow_from_u0100_in_their_order():
    others = [letter for letter in BYTE_LETTERS if ord(letter) > 0xFF]
    assert others == [chr(0x100 + place) for place in range(68)]
    assert byte_letters.spell(b" a\n\xad") == "Ġa\u010a\u0143"


def test_no_two_bytes_share_a_letter_and_none_is_white_space():
    assert len(set(BYTE_LETTERS)) == 256
    assert all(letter.isprintable() for letter in BYTE_LETTERS)
    assert not any(letter.isspace() for letter in BYTE_LETTERS)


def test_letters_read_back_as_their_bytes():
    letters = byte_letters.spell(EVERY_BYTE)
    assert byte_letters.read(letters) == EVERY_BYTE
    strings = tf.constant([letters, "", byte_letters.spell(b"\xff \x00")])
    back = tf.function(byte_letters.to_bytes)(strings).numpy().tolist()
    assert back == [EVERY_BYTE, b"", b"\xff \x00"]


@pytest.mark.parametrize("word", ["a b", "\n", "\u2581a", "\u0144"])
def test_other_characters_are_no_letters(word):
    assert byte_letters.read(word) is None


@pytest.mark.peers
def test_the_letters_are_hugging_faces():
    from tokenizers.pre_tokenizers import ByteLevel

    assert set(BYTE_LETTERS) == set(ByteLevel.alphabet())
    split = ByteLevel(add_prefix_space=False, use_regex=False)
    for character in map(chr, (0, 10, 32, 0x7F, 0xA0, 0xAD, 0x3042, 0x1F600)):
        ((letters, _),) = split.pre_tokenize_str(character)
        assert letters == byte_letters.spell(character.encode())
