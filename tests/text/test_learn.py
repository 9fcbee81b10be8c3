import random
import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.text.byte_pair import BytePairTokenizer
from keras_attn.text.character import CharacterTokenizer
from keras_attn.text.learn import learn_vocabulary
from keras_attn.text.segmentation.byte_letters import BYTE_LETTERS
from keras_attn.text.special_tokens import DEFAULT
from keras_attn.text.word import WordTokenizer
from keras_attn.text.word_piece import WordPieceTokenizer

TEXTS = ["The cat, the Café.", "the cafe: the cat's the", "a\u00a0cat"]
# Pieces that come again in other words.
VERBS = [
    f"un{verb}{ending}"
    for verb in ("lock", "pack", "load", "fold")
    for ending in ("", "ed", "ing", "able")
]


def learn(texts, size, **options):
    return learn_vocabulary(texts, size, verbose=0, **options)


def test_words_come_in_order_of_how_often_they_occur():
    tokens = learn(TEXTS, 100)
    words = ["the", "cat"]  # 4 and 3 times
    once = sorted([",", "Café", ".", "cafe", ":", "'", "s", "The", "a"])
    assert tokens == [*DEFAULT, *words, *once]
    assert learn(TEXTS, 8) == tokens[:8]


@pytest.mark.parametrize(
    ("frequency", "words"),
    [(1, 11), (2, 2), (3, 2), (4, 1), (np.int64(4), 1)],
)
def test_rare_words_are_left_out_if_wanted(frequency, words):
    tokens = learn(TEXTS, 100, min_frequency=frequency)
    assert tokens == learn(TEXTS, 100)[: len(DEFAULT) + words]


def test_rare_characters_are_left_out_if_wanted():
    tokens = learn(["abcab", "ba"], 100, kind="character", min_frequency=3)
    assert tokens == [*DEFAULT, "a", "b"]


def test_special_tokens_may_be_those_of_another_tokenizer():
    parts = {"start": "<|endoftext|>", "end": "<|endoftext|>"}
    other = WordTokenizer(["<|endoftext|>", "[UNK]"], special_tokens=parts)
    tokens = learn(TEXTS, 4, special_tokens=other.special_tokens)
    assert tokens == ["<|endoftext|>", "[UNK]", "the", "cat"]


def test_words_are_those_of_the_tokenizer():
    tokens = learn(TEXTS, 100, lowercase=True, strip_accents=True)
    assert tokens[5:8] == ["the", "cat", "cafe"]
    tokenizer = WordTokenizer(tokens, lowercase=True, strip_accents=True)
    assert tokenizer.unknown_id not in tokenizer(TEXTS).values
    tokens = learn(TEXTS, 100, split="whitespace")
    tokenizer = WordTokenizer(tokens, split="whitespace")
    assert "Café." in tokens and "cat's" in tokens
    assert tokenizer.unknown_id not in tokenizer(TEXTS).values


def test_characters_are_those_of_the_tokenizer():
    tokens = learn(["aba\n", "b a👩🏽\u200d🚀", ""], 100, kind="character")
    assert tokens[:8] == [*DEFAULT, "a", "b", "\n"]
    assert sorted(tokens[5:]) == sorted({*"ab\n 👩🏽\u200d🚀"})
    tokenizer = CharacterTokenizer(tokens)
    assert tokenizer.unknown_id not in tokenizer(["🚀\nab"]).values


def test_the_order_of_the_texts_plays_no_part():
    texts = [f"{number % 7} {number % 5} x{number % 3}" for number in range(99)]
    shuffled = random.Random(0).sample(texts, len(texts))
    for kind in ("word", "character"):
        expected = learn(texts, 12, kind=kind)
        assert learn(shuffled, 12, kind=kind) == expected


def test_special_tokens_come_first_and_are_not_counted():
    tokens = learn(
        ["<s> a <s>"], 9, split="whitespace", special_tokens=["<pad>", "<s>"]
    )
    assert tokens == ["<pad>", "<s>", "a"]


def test_bytes_that_are_no_text_are_left_out():
    assert learn([b"a \xff\xfe b"], 9) == [*DEFAULT, "a", "b"]


def test_files_and_datasets_give_the_same_as_lists(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS), encoding="utf-8")
    dataset = tf.data.Dataset.from_tensor_slices(TEXTS)
    for texts in (path, [path], dataset, dataset.batch(2)):
        assert learn(texts, 20) == learn(TEXTS, 20)


def test_progress_is_shown_if_wanted(capsys):
    learn_vocabulary(TEXTS, 20)
    assert "3" in capsys.readouterr().out
    learn(TEXTS, 20)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "options", "complaint"),
    [
        ((TEXTS, 20), {"kind": "letters"}, "`kind` is one of.*'letters'"),
        ((TEXTS, 5), {}, "beside 5 special tokens.*size=5"),
        (([], 20), {}, "no text to learn from"),
        ((["", "  "], 20), {}, "no text to learn from"),
        (([""], 20), {"kind": "character"}, "no text to learn from"),
        ((TEXTS, 300), {"kind": "bpe", "lowercase": True}, "text as it is"),
        ((TEXTS, 20), {"kind": "character", "strip_accents": True}, "as it is"),
        ((TEXTS, 20), {"min_frequency": 0}, "integer of at least 1.*=0"),
        ((TEXTS, 20), {"min_frequency": 1.5}, "integer of at least 1.*=1.5"),
        ((TEXTS, 20), {"min_frequency": True}, "integer of at least 1.*=True"),
        ((TEXTS, 20), {"min_frequency": 5}, "occurs 4 times.*=5"),
        ((TEXTS, 20), {"split": "letters"}, "`split` must.*'letters'"),
        ((TEXTS, 20), {"kind": "wordpiece", "split": "whitespace"}, "`split`"),
    ],
)
def test_what_cannot_be_learned_is_refused(arguments, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        learn(*arguments, **options)


@pytest.mark.parametrize(
    ("kind", "package"),
    [("wordpiece", "tensorflow_text"), ("bpe", "tokenizers")],
)
def test_a_missing_library_is_named(kind, package, monkeypatch):
    for module in [*sys.modules]:
        if module.partition(".")[0] == package:
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"'{package}'.*keras_attn\[text\]"):
        learn(TEXTS, 400, kind=kind)


@pytest.mark.peers
def test_byte_pairs_are_learned():
    tokens, merges = learn(VERBS, 300, kind="bpe")
    assert tokens[:5] == [*DEFAULT]
    assert sorted(tokens[5:261]) == sorted(BYTE_LETTERS)
    assert tokens[261:] == [merge.replace(" ", "") for merge in merges]
    assert len(tokens) <= 300 and "un" in tokens and "able" in tokens
    tokenizer = BytePairTokenizer(tokens, merges)
    text = b"unlocked untold \xff"
    assert tokenizer.detokenize(tokenizer([text])).numpy() == [text]
    assert len(tokenizer("unlocked")) < 4
    shuffled = random.Random(0).sample(VERBS, len(VERBS))
    assert learn(shuffled, 300, kind="bpe") == (tokens, merges)


@pytest.mark.peers
def test_pieces_are_learned():
    tokens = learn([" ".join(VERBS)], 45, kind="wordpiece")
    assert tokens[:5] == [*DEFAULT] and len(tokens) <= 45
    assert len({*tokens}) == len(tokens)
    for letter in {*"".join(VERBS)}:
        assert letter in tokens and f"##{letter}" in tokens
    tokenizer = WordPieceTokenizer(tokens)
    assert tokenizer.unknown_id not in tokenizer(VERBS).values
    shuffled = random.Random(0).sample(VERBS, len(VERBS))
    assert learn(shuffled, 45, kind="wordpiece") == tokens


@pytest.mark.peers
def test_rare_pieces_and_merges_are_left_out_if_wanted():
    texts = [*VERBS * 5, "packrat"]
    tokens = learn(texts, 200, kind="wordpiece")
    assert "unpack" in tokens and "packrat" in tokens
    tokens = learn(texts, 200, kind="wordpiece", min_frequency=2)
    assert "unpack" in tokens and "packrat" not in tokens
    # Every letter stays, so that no word is unknown.
    assert {*"".join(texts)} <= {*tokens}
    _, merges = learn(texts, 400, kind="bpe")
    assert "r a" in merges or "a t" in merges
    _, merges = learn(texts, 400, kind="bpe", min_frequency=2)
    assert "u n" in merges and not {"r a", "a t"} & {*merges}


@pytest.mark.peers
def test_more_room_gives_longer_pieces():
    short, long = (
        WordPieceTokenizer(learn(VERBS * 3, size, kind="wordpiece"))
        for size in (42, 80)
    )
    assert len(long(VERBS).values) < len(short(VERBS).values)


@pytest.mark.peers
@pytest.mark.parametrize(
    ("kind", "size", "complaint"),
    [
        ("bpe", 260, "at least 261 tokens.*size=260"),
        ("wordpiece", 30, "at least 33 tokens.*size=30"),
    ],
)
def test_the_alphabet_must_fit(kind, size, complaint):
    with pytest.raises(ValueError, match=complaint):
        learn(VERBS, size, kind=kind)


@pytest.mark.peers
@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_nothing_cannot_be_learned_from(kind):
    with pytest.raises(ValueError, match="no text to learn from"):
        learn(["", ""], 300, kind=kind)
