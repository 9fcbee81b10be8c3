import base64
import json

import pytest
import tensorflow as tf

from keras_attn.text import Tokenizer
from keras_attn.text import UnigramTokenizer
from tests.text import sentence_piece_files as written
from tests.text.sentence_piece.test_precompiled_map import compiled

VOCABULARY = [["<s>", 0.0], ["<unk>", 0.0], ["▁", -2.0], ["▁a", -1.5]]
VOCABULARY += [["b", -3.0], ["</s>", 0.0]]
META = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}
SPLIT = {"type": "WhitespaceSplit"}
SEVERAL = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
STRIP = {"type": "Strip", "strip_left": False, "strip_right": True}
MAP = {
    "type": "Precompiled",
    "precompiled_charsmap": base64.b64encode(compiled({"é": "b"})).decode(),
}


def sequence(name, *steps):
    return {"type": "Sequence", name: list(steps)}


def read(folder, **parts):
    whole = {
        "model": {"type": "Unigram", "unk_id": 1, "vocab": VOCABULARY},
        "normalizer": sequence("normalizers", MAP, SEVERAL),
        "pre_tokenizer": META,
        "decoder": META,
        "added_tokens": [{"id": 6, "content": "<mask>", "special": True}],
    } | parts
    (folder / "tokenizer.json").write_text(json.dumps(whole))
    return Tokenizer.from_huggingface(folder)


def test_pieces_map_and_added_tokens_are_read(tmp_path):
    tokenizer = read(tmp_path)
    assert isinstance(tokenizer, UnigramTokenizer)
    assert tokenizer.arithmetic == "tokenizers"
    assert tokenizer.vocabulary_size == 7
    ids = tokenizer(["aé  a ", "a<mask>b"]).to_list()
    assert ids == [[3, 4, 3, 2], [3, 6, 2, 4]]
    assert tokenizer.detokenize([3, 4, 2, 4]).numpy() == b"ab b"


@pytest.mark.parametrize(
    ("normalizer", "pre_tokenizer", "expected"),
    [
        (None, META, [3, 2, 3, 1, 3, 2]),
        (SEVERAL, META, [3, 3, 1, 3, 2]),
        (sequence("n", MAP, STRIP, SEVERAL), META, [3, 3, 1, 3]),
        (MAP, sequence("p", SPLIT, META), [3, 3, 3, 3]),
    ],
)
def test_spaces_are_as_the_parts_say(
    tmp_path, normalizer, pre_tokenizer, expected
):
    tokenizer = read(
        tmp_path, normalizer=normalizer, pre_tokenizer=pre_tokenizer
    )
    assert tokenizer(["a  a\u2003a▁a "]).to_list() == [expected]


def test_albert_has_no_capitals_and_accents(tmp_path):
    steps = [
        {"type": "Replace", "pattern": {"String": "``"}, "content": "b"},
        *({"type": kind} for kind in ("NFKD", "StripAccents", "Lowercase")),
        *({"type": "Nmt"}, MAP, SEVERAL),
    ]
    tokenizer = read(tmp_path, normalizer=sequence("normalizers", *steps))
    ids = tokenizer(["Á``\tÅB", "àḃ"]).to_list()
    assert ids == [[3, 4, 3, 4], [3, 4]]


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({"normalizer": {"type": "NFKC"}}, "normalizer is 'NFKC'"),
        ({"normalizer": {"type": "NFKD"}}, "normalizer is 'NFKD'"),
        (
            {"normalizer": {**MAP, "precompiled_charsmap": "AAAA"}},
            "precompiled_charsmap is damaged",
        ),
        ({"normalizer": {**SEVERAL, "content": "x"}}, "Replace is"),
        (
            {"normalizer": sequence("n", SEVERAL, MAP)},
            "spaces are last",
        ),
        ({"pre_tokenizer": None}, r"pre_tokenizer is \[\]"),
        ({"pre_tokenizer": {**META, "split": False}}, "Metaspace is"),
        ({"pre_tokenizer": {**META, "replacement": "_"}}, "Metaspace is"),
        (
            {
                "pre_tokenizer": sequence(
                    "p", SPLIT, {**META, "prepend_scheme": "first"}
                )
            },
            "prepend_scheme is 'first'",
        ),
        ({"decoder": {"type": "WordPiece"}}, "decoder is"),
        (
            {"model": {"type": "Unigram", "unk_id": None, "vocab": VOCABULARY}},
            "unk_id is None",
        ),
        ({"model": {"type": "Unigram", "unk_id": 1}}, "lacks the key 'vocab'"),
    ],
)
def test_what_cannot_be_expressed_is_named(tmp_path, parts, complaint):
    with pytest.raises(ValueError, match=rf"tokenizer\.json.*{complaint}"):
        read(tmp_path, **parts)


@pytest.fixture(scope="module")
def texts():
    return written.real_and_fuzzed()


def encode(tokenizer, texts):
    batches = tf.data.Dataset.from_tensor_slices(texts).batch(1024)
    return [row for rows in batches.map(tokenizer) for row in rows.to_list()]


@pytest.mark.peers
@pytest.mark.parametrize("collapse", [True, False])
def test_ids_are_those_of_tokenizers(collapse, texts, tmp_path):
    import tokenizers

    peer = tokenizers.Tokenizer(tokenizers.models.Unigram())
    steps = [tokenizers.normalizers.Nmt()]
    if collapse:
        several = tokenizers.Regex(" {2,}")
        steps.append(tokenizers.normalizers.Replace(several, " "))
    peer.normalizer = tokenizers.normalizers.Sequence(steps)
    peer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    peer.decoder = tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=2500,
        special_tokens=["<unk>", "</s>"],
        unk_token="<unk>",
        show_progress=False,
    )
    peer.train_from_iterator(texts[:3000], trainer)
    peer.save(str(tmp_path / "tokenizer.json"))
    tokenizer = Tokenizer.from_huggingface(tmp_path)
    texts = [*texts, "a</s> b", " </s>", "a  ", "  a"]
    expected = [coding.ids for coding in peer.encode_batch(texts)]
    assert encode(tokenizer, texts) == expected
    some = expected[::7]
    decoded = tokenizer.detokenize(tf.ragged.constant(some)).numpy()
    assert [text.decode() for text in decoded] == peer.decode_batch(some)


@pytest.mark.peers
def test_a_map_is_applied_as_by_sentencepiece(texts, tmp_path):
    """Where `tokenizers` differs, sentencepiece is right.

    It looks a whole cluster of characters (a letter and its marks) up, takes
    the shortest key that the cluster starts with, and drops the rest: of "ﱋ"
    with U+031F the mark is lost. No real text of 20,000 differs, and about one
    in nine of the fuzzed ones, all of which have such marks.
    """
    import sentencepiece
    import tokenizers
    from sentencepiece import sentencepiece_model_pb2

    data = written.trained(texts[:3000])
    model = sentencepiece.SentencePieceProcessor(model_proto=data)
    proto = sentencepiece_model_pb2.ModelProto.FromString(data)
    pieces = [(piece.piece, piece.score) for piece in proto.pieces]
    peer = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=0))
    peer.normalizer = tokenizers.normalizers.Sequence(
        [
            tokenizers.normalizers.Precompiled(
                proto.normalizer_spec.precompiled_charsmap
            ),
            tokenizers.normalizers.Strip(left=False),
            tokenizers.normalizers.Replace(tokenizers.Regex(" {2,}"), "▁"),
        ]
    )
    peer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(
        prepend_scheme="first"
    )
    peer.decoder = tokenizers.decoders.Metaspace()
    peer.save(str(tmp_path / "tokenizer.json"))
    ids = encode(Tokenizer.from_huggingface(tmp_path), texts)
    theirs = [coding.ids for coding in peer.encode_batch(texts)]
    assert ids[:20_000] == theirs[:20_000] == model.encode(texts[:20_000])
    differs = [a != b for a, b in zip(ids, theirs, strict=True)]
    assert 0 < sum(differs) < 0.2 * len(texts[20_000:])
    # A mark of the text that stands alone at an end is another matter.
    expected = model.encode(texts)
    wrong = [
        text
        for text, a, b in zip(texts, ids, expected, strict=True)
        if a != b and "▁" not in text
    ]
    assert wrong == []
