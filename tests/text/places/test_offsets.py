import random

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.text import CharacterTokenizer
from keras_attn.text import Tokenizer
from keras_attn.text.byte_pair import BytePairTokenizer
from keras_attn.text.places.offsets import Offsets
from keras_attn.text.special_tokens import DEFAULT
from keras_attn.text.word_piece import WordPieceTokenizer
from tests.text import real_text

UNCASED = {"lowercase": True, "strip_accents": True, "clean_text": True}
PIECES = ["the", "cafe", "##s", "in", "li", "##lle", ",", ".", "[", "]", "你"]
BYTES = [*map(chr, range(33, 127)), "Ġ", "Ã", "©"]
MERGES = ["t h", "th e", "Ġ the", "Ã ©", "i n", "Ġ in"]


def word_piece(**options):
    return WordPieceTokenizer([*DEFAULT, *PIECES], **options)


def byte_pair():
    tokens = [*BYTES, *(merge.replace(" ", "") for merge in MERGES)]
    return BytePairTokenizer([*DEFAULT, *tokens], MERGES)


def pieces_of(tokenizer, texts, **options):
    """What of the texts each token stands for."""
    ids = tokenizer(texts)
    starts, ends = Offsets(tokenizer, **options)(tf.constant(texts), ids)
    return [
        [text[start:end] for start, end in zip(*row, strict=True)]
        for text, *row in zip(
            texts, starts.to_list(), ends.to_list(), strict=True
        )
    ]


def test_what_is_changed_is_found_in_the_original():
    texts = [
        " The CAFÉS,  in\tLille.",
        "",
        "Cafe\u0301s\u200d in 你Zürich.the",
        " \u3000 ",
    ]
    expected = [
        ["The", "CAFÉ", "S", ",", "in", "Li", "lle", "."],
        [],
        ["Cafe", "s", "in", "你", "Zürich", ".", "the"],
        [],
    ]
    assert pieces_of(word_piece(**UNCASED), texts) == expected


def test_bytes_are_counted_without_the_space_before_a_word():
    texts = ["", "the café in", "  thein \u00e9\n"]
    expected = [
        [],
        ["the", "", *"café", "in"],
        ["", "the", "in", "", "é", ""],
    ]
    assert pieces_of(byte_pair(), texts) == expected


def test_white_space_neither_begins_nor_closes_a_span():
    tokenizer, text = byte_pair(), "the  \u00e9 in"
    starts, ends = Offsets(tokenizer)(tf.constant([text]), tokenizer([text]))
    (starts,), (ends,) = starts.to_list(), ends.to_list()
    for first in range(len(starts)):
        for last in range(first, len(ends)):
            assert (
                text[starts[first] : ends[last]].strip(" ")
                == (text[starts[first] : ends[last]])
            )
    assert text[starts[0] : ends[-1]] == text and len(starts) > 3


@pytest.mark.parametrize("kind", ["word_piece", "byte_pair"])
def test_whole_words_are_taken_if_asked_for(kind):
    tokenizer = word_piece(**UNCASED)
    if kind == "byte_pair":
        tokenizer = byte_pair()
    texts = ["the cafés, in", " thein. "]
    words = pieces_of(tokenizer, texts, whole_words=True)
    for row, expected in zip(
        words, (["the", "cafés", ",", "in"], ["thein", "."]), strict=True
    ):
        assert list(dict.fromkeys(filter(None, row))) == expected


def test_a_special_token_in_a_text_is_as_long_as_its_name():
    tokenizer = word_piece()
    text = "the [MASK] in"
    ids = tokenizer([text]).to_list()[0]
    assert len(ids) == 5  # the name of MASK is text like any other
    mask = tokenizer.mask_id
    ids = tf.ragged.constant([[ids[0], mask, ids[-1]]], tf.int32)
    starts, ends = Offsets(tokenizer)(tf.constant([text]), ids)
    assert starts.to_list() == [[0, 4, 11]] and ends.to_list() == [[3, 10, 13]]


def test_other_tokenizers_are_refused():
    with pytest.raises(ValueError, match="Received: CharacterTokenizer"):
        Offsets(CharacterTokenizer([*DEFAULT, "a"]))


@pytest.fixture(scope="module")
def sentences():
    rng = random.Random(3)
    # Two in three as they are, and others with signs of all kinds between.
    signs = [*"\u0301\u200d\u00ad\u3000\u00a0\n\ufeff\u00c5\u1e9b\u2126ÄßŁ你한"]
    lines = real_text.sentences(1500)
    for number in range(0, len(lines), 3):
        line = list(lines[number])
        for _ in range(3):
            line.insert(rng.randrange(len(line) + 1), rng.choice(signs))
        lines[number] = "".join(line)
    return lines


def offsets_of(tokenizer, texts, **options):
    ids = tokenizer(texts)
    starts, ends = Offsets(tokenizer, **options)(tf.constant(texts), ids)
    stacked = tf.stack([starts.values, ends.values], axis=1)
    return ids.to_list(), ids.with_values(stacked).to_list()


@pytest.mark.peers
@pytest.mark.parametrize("uncased", [True, False])
def test_word_pieces_stand_where_tokenizers_says(uncased, sentences):
    import tokenizers

    vocabulary = real_text.pieces(sentences, 2500)
    ids = {token: number for number, token in enumerate(vocabulary)}
    peer = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(ids, unk_token=vocabulary[1])
    )
    peer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=uncased)
    peer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    encoded = peer.encode_batch(sentences)
    options = dict.fromkeys(UNCASED, uncased) | {"clean_text": True}
    tokenizer = WordPieceTokenizer(vocabulary, **options)
    ids, spans = offsets_of(tokenizer, sentences)
    same = [one == two.ids for one, two in zip(ids, encoded, strict=True)]
    assert np.mean(same) > 0.99
    for equal, ours, theirs in zip(same, spans, encoded, strict=True):
        assert not equal or [*map(tuple, ours)] == theirs.offsets
    unknown = [tokenizer.unknown_id in row for row in ids]
    assert 0.05 < np.mean(unknown) < 0.95


@pytest.mark.peers
def test_byte_pairs_stand_where_tokenizers_says(sentences):
    import json

    import tokenizers

    peer = tokenizers.ByteLevelBPETokenizer(trim_offsets=True)
    peer.train_from_iterator(
        sentences, vocab_size=700, special_tokens=list(DEFAULT)
    )
    whole = json.loads(peer.to_str())["model"]
    tokenizer = BytePairTokenizer(whole["vocab"], whole["merges"])
    ids, spans = offsets_of(tokenizer, sentences)
    different = 0
    for text, ours, spans_of_one in zip(sentences, ids, spans, strict=True):
        theirs = peer.encode(text)
        assert ours == theirs.ids
        for (start, end), expected in zip(
            spans_of_one, theirs.offsets, strict=True
        ):
            # They trim white space of Unicode, we that of ASCII.
            ours, theirs = text[start:end], text[slice(*expected)]
            assert ours.strip() == theirs.strip()
            different += bool(ours.strip()) and (start, end) != expected
    assert different < 10


def by_nfkc(folder, sentences):
    """A unigram model of `tokenizers` that prepares texts as XLM-R does."""
    import io

    import sentencepiece
    import tokenizers
    from sentencepiece import sentencepiece_model_pb2

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=model,
        vocab_size=900,
        character_coverage=0.98,
        minloglevel=2,
        num_threads=1,
    )
    proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    pieces = [(piece.piece, piece.score) for piece in proto.pieces]
    peer = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, 0, False))
    charsmap = proto.normalizer_spec.precompiled_charsmap
    peer.normalizer = tokenizers.normalizers.Precompiled(charsmap)
    peer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.WhitespaceSplit(),
            tokenizers.pre_tokenizers.Metaspace(),
        ]
    )
    peer.decoder = tokenizers.decoders.Metaspace()
    peer.save(str(folder / "tokenizer.json"))
    return peer


@pytest.mark.peers
def test_unigram_pieces_stand_where_tokenizers_says(sentences, tmp_path):
    peer = by_nfkc(tmp_path, sentences)
    tokenizer = Tokenizer.from_huggingface(tmp_path)
    ids, spans = offsets_of(tokenizer, sentences)
    equal, counted, unknown = 0, 0, 0
    for text, ours, spans_of_one in zip(sentences, ids, spans, strict=True):
        theirs = peer.encode(text)
        if ours != theirs.ids:
            continue
        for number, (start, end), (one, two) in zip(
            ours, spans_of_one, theirs.offsets, strict=True
        ):
            # Of what is but a mark they tell the place of the next letter.
            if text[start:end].strip():
                counted += 1
                equal += text[start:end].strip() == text[one:two].strip()
                unknown += number == 0
    assert counted > 10_000 and unknown > 100
    assert equal / counted > 0.99
