import json
import unicodedata

import hypothesis
import pytest
import tensorflow as tf
from hypothesis import strategies as st

from keras_attn.text.special_tokens import DEFAULT
from keras_attn.text.word_piece import WordPieceTokenizer
from tests.text import real_text
from tests.text import textbook_word_piece
from tests.text.contract import ODD_TEXTS
from tests.text.contract import check_tokenizer

PIECES = ["un", "##aff", "##able", "##a", "a", "##b", "b", "!", "'", "#"]
PIECES += ["caf\u00e9", "cafe", "Caf", "##\u00e9", "##s", "\u4f60", "##\u4f60"]
QUICKLY = hypothesis.settings(deadline=None, derandomize=True, max_examples=15)
# Letters of the vocabularies below, others, signs, spaces and joiners.
CHARACTERS = st.sampled_from("abc\u00e9\u4f60.#' \u00a0\u3000\u200d\0\u0301")
ANY_TEXTS = st.lists(
    st.one_of(
        st.text(CHARACTERS, max_size=12).map(str.encode),
        st.text(st.characters(exclude_categories=["Cs"])).map(str.encode),
        st.binary(max_size=12),
    ),
    min_size=20,
    max_size=60,
)
SOME_PIECES = st.tuples(
    st.sampled_from(["", "##"]),
    st.text("abc\u00e9", min_size=1, max_size=6),
).map("".join)
SOME_VOCABULARY = st.lists(
    SOME_PIECES, unique=True, min_size=1, max_size=15
).map(lambda pieces: [*DEFAULT, *pieces])


@pytest.fixture(scope="module")
def sentences():
    return real_text.sentences(20_000)


@pytest.fixture(scope="module")
def vocabulary(sentences):
    return real_text.pieces(sentences[::2], 6000)


def tokens_of(tokenizer, text):
    return [tokenizer.vocabulary[number] for number in tokenizer(text).numpy()]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lowercase": True, "strip_accents": True, "clean_text": True},
    ],
    ids=["plain", "normalised"],
)
def test_contract(options, tmp_path):
    tokenizer = WordPieceTokenizer([*DEFAULT, *PIECES], **options)
    check_tokenizer(tokenizer, ["unaffable caf\u00e9s!", "a"], tmp_path)


def test_a_word_is_the_longest_pieces_that_fit():
    tokenizer = WordPieceTokenizer([*DEFAULT, *PIECES])
    assert tokens_of(tokenizer, "unaffable!") == ["un", "##aff", "##able", "!"]
    assert tokens_of(tokenizer, "unaffordable un") == ["[UNK]", "un"]
    assert tokens_of(tokenizer, "a#b ##a") == ["a", "#", "b", "#", "#", "a"]
    assert tokens_of(tokenizer, "a\u4f60b") == ["a", "\u4f60", "b"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["Caf", "##\u00e9", "##s"]),
        ({"lowercase": True}, ["caf\u00e9", "##s"]),
        ({"lowercase": True, "strip_accents": True}, ["cafe", "##s"]),
        ({"strip_accents": True}, ["[UNK]"]),
    ],
    ids=str,
)
def test_case_and_accents_are_options(options, expected):
    tokenizer = WordPieceTokenizer([*DEFAULT, *PIECES], **options)
    assert tokens_of(tokenizer, "Caf\u00e9s") == expected


def test_control_characters_are_parts_of_words_unless_taken_out():
    text = "u\u00adn\u200b"
    plain = WordPieceTokenizer([*DEFAULT, *PIECES])
    assert tokens_of(plain, text) == ["[UNK]"]
    cleaning = WordPieceTokenizer([*DEFAULT, *PIECES], clean_text=True)
    assert tokens_of(cleaning, text) == ["un"]


def test_a_word_of_more_than_100_bytes_is_unknown():
    tokenizer = WordPieceTokenizer([*DEFAULT, "\u00e9", "##\u00e9", "x" * 101])
    assert tokens_of(tokenizer, "\u00e9" * 50) == ["\u00e9", *["##\u00e9"] * 49]
    assert tokens_of(tokenizer, "\u00e9" * 51) == ["[UNK]"]
    assert tokens_of(tokenizer, "x" * 101) == ["[UNK]"]


def test_white_space_that_was_learned_as_a_letter_is_one():
    pieces = ["\u00a0", "##\u00a0", "oui", "oui\u00a0", "\u00ab", "\u202f"]
    tokenizer = WordPieceTokenizer([*DEFAULT, *pieces])
    assert tokens_of(tokenizer, "oui\u00a0 oui\u00a0\u00a0") == [
        *("oui\u00a0", "oui\u00a0", "##\u00a0")
    ]
    assert tokens_of(tokenizer, "\u00ab\u00a0oui\u202foui") == [
        *("\u00ab", "oui", "oui")
    ]


def test_a_token_with_spaces_or_the_bare_mark_is_never_found():
    tokenizer = WordPieceTokenizer([*DEFAULT, "a b", "a\tb", "##", "a", "b"])
    assert tokens_of(tokenizer, "a b a\tb ab") == [*"abab", "[UNK]"]
    assert tokenizer.detokenize([[8, 7, 9]]).numpy() == [b"a ## b"]


def test_pieces_come_back_as_words():
    tokenizer = WordPieceTokenizer([*DEFAULT, *PIECES])
    ids = tokenizer(["unaffable!", "  a\tcaf\u00e9s ", "xyz a", ""])
    assert tokenizer.detokenize(ids).numpy().tolist() == [
        *(b"unaffable !", "a caf\u00e9s".encode(), b"[UNK] a", b"")
    ]
    numbers = [tokenizer.id_of("##a"), tokenizer.id_of("##b"), 99, -1]
    assert tokenizer.detokenize(numbers).numpy() == b"##ab [UNK] [UNK]"


@QUICKLY
@hypothesis.given(SOME_VOCABULARY, ANY_TEXTS)
def test_words_without_signs_are_the_textbooks(vocabulary, texts):
    tokenizer = WordPieceTokenizer(vocabulary)
    ids = {token.encode(): id for id, token in enumerate(vocabulary)}
    texts = [text for text in texts if text.isalnum()]
    assert tokenizer(texts).to_list() == [
        textbook_word_piece.pieces(text, ids, unknown=1) for text in texts
    ]


@QUICKLY
@hypothesis.given(
    SOME_VOCABULARY,
    st.lists(st.lists(st.text("abc\u00e9", min_size=1)).map(" ".join)),
)
def test_text_that_is_known_comes_back_byte_for_byte(vocabulary, texts):
    # All letters, so that no word is unknown.
    letters = [mark + letter for letter in "abc\u00e9" for mark in ("", "##")]
    tokenizer = WordPieceTokenizer(list(dict.fromkeys(vocabulary + letters)))
    texts = [text.encode() for text in texts]
    texts = [text for text in texts if all(len(w) <= 100 for w in text.split())]
    assert tokenizer.detokenize(tokenizer(texts)).numpy().tolist() == texts


@QUICKLY
@hypothesis.given(SOME_VOCABULARY, ANY_TEXTS)
def test_what_comes_back_has_the_same_ids(vocabulary, texts):
    tokenizer = WordPieceTokenizer([*vocabulary, *".#'\u4f60"])
    rows = [row for row in tokenizer(texts).to_list() if 1 not in row]
    rows = tf.ragged.constant(rows, tf.int32, ragged_rank=1)
    again = tokenizer(tokenizer.detokenize(rows))
    assert again.to_list() == rows.to_list()


def test_a_vocabulary_that_does_not_hold_the_unknown_token_is_refused():
    with pytest.raises(ValueError, match=r"unknown token '\[UNK\]' is not in"):
        WordPieceTokenizer(["a", "##b"])


def test_one_long_word_takes_little_memory_beside_many():
    """Padding 20,000 words to the longest would take 20 GB."""
    tokenizer = WordPieceTokenizer([*DEFAULT, *PIECES])
    (ids,) = tokenizer(["ab " * 20_000 + "a" * 1_000_000]).to_list()
    a, b = tokenizer.id_of("a"), tokenizer.id_of("##b")
    assert ids == [a, b] * 20_000 + [tokenizer.unknown_id]


@pytest.mark.peers
def test_ids_are_tensorflow_texts_on_real_sentences(sentences, vocabulary):
    import tensorflow_text

    peer = tensorflow_text.FastWordpieceTokenizer(
        vocabulary, token_out_type=tf.int32, support_detokenization=True
    )
    tokenizer = WordPieceTokenizer(vocabulary)
    batches = tf.data.Dataset.from_tensor_slices(sentences).batch(2000)
    ids = [row for batch in batches.map(tokenizer) for row in batch.to_list()]
    theirs = peer.tokenize(sentences)
    assert ids == theirs.to_list()
    unknown = tf.reduce_mean(tf.cast(theirs.values == 1, tf.float32))
    assert 0.01 < unknown < 0.3
    rows = tf.ragged.constant(ids, tf.int32, ragged_rank=1)
    ours_back = tokenizer.detokenize(rows, keep_special=True)
    assert tf.reduce_all(ours_back == peer.detokenize(theirs))


@pytest.mark.peers
@QUICKLY
@hypothesis.given(SOME_VOCABULARY, ANY_TEXTS)
def test_ids_are_tensorflow_texts_on_anything(vocabulary, texts):
    import tensorflow_text

    peer = tensorflow_text.FastWordpieceTokenizer(
        vocabulary, token_out_type=tf.int32, support_detokenization=True
    )
    tokenizer = WordPieceTokenizer(vocabulary)
    texts = [*texts, *ODD_TEXTS]
    ids = tokenizer(texts)
    assert ids.to_list() == peer.tokenize(texts).to_list()
    every = tf.RaggedTensor.from_row_lengths(
        [*range(len(vocabulary)), *reversed(range(len(vocabulary)))],
        [len(vocabulary)] * 2,
    )
    back = tokenizer.detokenize(every, keep_special=True).numpy().tolist()
    assert back == peer.detokenize(every).numpy().tolist()


@pytest.mark.peers
def test_accented_text_is_as_in_tensorflow_text(sentences):
    import tensorflow_text

    def is_compatible(text):
        """Whether tensorflow-text's further foldings leave it alone."""
        return (
            text.isprintable()
            and text.casefold() == text.lower()
            and unicodedata.normalize("NFKD", text)
            == unicodedata.normalize("NFD", text)
        )

    sentences = [*filter(is_compatible, sentences)]
    assert len(sentences) > 8000
    normalizer = tensorflow_text.FastBertNormalizer(
        lower_case_nfd_strip_accents=True
    )
    normal = normalizer.normalize(sentences)
    vocabulary = real_text.pieces(
        [text.decode() for text in normal.numpy()[::2]], 6000
    )
    peer = tensorflow_text.FastWordpieceTokenizer(
        vocabulary, token_out_type=tf.int32
    )
    tokenizer = WordPieceTokenizer(
        vocabulary, lowercase=True, strip_accents=True
    )
    ours, theirs = tokenizer(sentences).to_list(), peer.tokenize(normal)
    different = [
        sentence
        for sentence, a, b in zip(
            sentences, ours, theirs.to_list(), strict=True
        )
        if a != b
    ]
    assert different == []


@pytest.mark.peers
@pytest.mark.parametrize("cased", [True, False])
def test_ids_are_hugging_faces(cased, sentences, tmp_path):
    import transformers

    lines = sentences if cased else [line.lower() for line in sentences]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = special + real_text.pieces(lines[::2], 6000)[len(DEFAULT) :]
    (tmp_path / "vocab.txt").write_text(
        "".join(f"{token}\n" for token in vocabulary), encoding="utf-8"
    )
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"do_lower_case": not cased})
    )
    peer = transformers.BertTokenizerFast.from_pretrained(tmp_path)
    tokenizer = WordPieceTokenizer(
        vocabulary,
        lowercase=not cased,
        strip_accents=not cased,
        clean_text=True,
    )
    theirs = peer(sentences, add_special_tokens=False)["input_ids"]
    ours = tokenizer(sentences).to_list()
    different = [
        sentence
        for sentence, a, b in zip(sentences, ours, theirs, strict=True)
        if a != b
    ]
    assert different == []
