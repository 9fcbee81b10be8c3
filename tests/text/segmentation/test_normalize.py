import unicodedata

import pytest
import tensorflow as tf

from keras_attn.text import tables
from keras_attn.text.segmentation.normalize import Normalizer

EVERY_CODE_POINT = [
    chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000
]


class Owner:
    """Keeps the files of a table."""


def normalize(texts, *, lowercase=False, strip_accents=False, **options):
    owner = Owner()
    normalizer = Normalizer(
        lowercase=lowercase,
        strip_accents=strip_accents,
        folder=tables.AssetFolder(owner),
        **options,
    )
    return normalizer(tf.constant(texts)).numpy().tolist()


def stripped(text):
    return "".join(
        part
        for part in unicodedata.normalize("NFD", text)
        if unicodedata.category(part) != "Mn"
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "ÉCOLE Über e\u0301 각"),
        ({"lowercase": True}, "école über e\u0301 각"),
        ({"strip_accents": True}, "ECOLE Uber e \u1100\u1161\u11a8"),
        (
            {"lowercase": True, "strip_accents": True},
            "ecole uber e \u1100\u1161\u11a8",
        ),
    ],
    ids=["neither", "lowercase", "strip_accents", "both"],
)
def test_case_and_accents_are_separate_options(options, expected):
    texts = normalize(["ÉCOLE Über e\u0301 각", "A", ""], **options)
    plain = "a" if "lowercase" in options else "A"
    assert [text.decode() for text in texts] == [expected, plain, ""]


@pytest.mark.parametrize(
    ("lowercase", "strip_accents"),
    [(True, False), (False, True), (True, True)],
)
def test_every_code_point_becomes_what_python_says(lowercase, strip_accents):
    def expected(character):
        lower = character.lower() if lowercase else character
        return stripped(lower) if strip_accents else lower

    # Of the others a thousandth, to save time.
    texts = [
        character
        for code, character in enumerate(EVERY_CODE_POINT)
        if expected(character) != character or code % 1000 == 0
    ]
    assert len(texts) > 2000
    new = normalize(texts, lowercase=lowercase, strip_accents=strip_accents)
    assert [text.decode() for text in new] == [*map(expected, texts)]


def test_neighbours_play_no_part():
    (text,) = normalize(["\u0391\u03a3 \u0130x \0é\0"], lowercase=True)
    assert text.decode() == "\u03b1\u03c3 i\u0307x \0é\0"


def test_what_is_not_utf8_becomes_the_replacement_character():
    texts = [b"A\xff", b"\xc3\xa9\xc3"]
    assert normalize(texts) == texts
    new = normalize(texts, lowercase=True, strip_accents=True)
    assert [text.decode() for text in new] == ["a\ufffd", "e\ufffd"]


def test_cleaning_takes_control_characters_out_and_leaves_white_space():
    text = "a\0\x07b\u200b\u00ad\ufeff\ufffd\ue000c\t\n\r\u00a0d\u0301"
    assert normalize([text]) == [text.encode()]
    (cleaned,) = normalize([text], clean_text=True)
    assert cleaned.decode() == "abc\t\n\r\u00a0d\u0301"


def test_nothing_gives_nothing():
    assert normalize(tf.zeros([0], tf.string), lowercase=True) == []


@pytest.mark.peers
def test_letters_become_what_tensorflow_text_says():
    import tensorflow_text

    def is_compatible(character):
        """Whether tensorflow-text's further foldings leave it alone."""
        lower = character.lower()
        return (
            unicodedata.category(character)[0] != "C"
            and unicodedata.normalize("NFKD", lower)
            == unicodedata.normalize("NFD", lower)
            and lower == character.casefold()
        )

    peer = tensorflow_text.FastBertNormalizer(lower_case_nfd_strip_accents=True)
    letters = [*filter(is_compatible, EVERY_CODE_POINT)]
    assert len(letters) > 130_000
    ours = normalize(letters, lowercase=True, strip_accents=True)
    theirs = peer.normalize(tf.constant(letters)).numpy().tolist()
    different = {
        character
        for character, a, b in zip(letters, ours, theirs, strict=True)
        if a != b
    }
    # Two fillers, which have no shape: theirs takes them out.
    assert different == {"\u115f", "\u1160"}
