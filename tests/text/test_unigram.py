import random

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.text import UnigramTokenizer
from tests import cpp_loader
from tests.text import sentence_piece_files
from tests.text.contract import check_tokenizer
from tests.text.textbook_viterbi import by_the_book
from tests.text.textbook_viterbi import random_scores

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
SCORES = {
    **{"▁": -3.0, "▁th": -2.0, "e": -2.5, "▁the": -3.5, "t": -4.0, "h": -4.0},
    **{"a": -3.0, "▁a": -3.2, "s": -2.75, "as": -5.0, "\n": -6.0, "n": -3.0},
}
VOCABULARY = [*SPECIAL, *SCORES]
MAPPING = {"ﬁ": "the", "\t": " ", "e\u0301": "e", "\x01": "", "\n": " "}
TEXTS = ["the  as", "a than as", "thé é\tthe\u0301", " a\n\nb ", "▁ a▁"]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"marian": True}, id="sentencepiece"),
        pytest.param(
            {
                "arithmetic": "tokenizers",
                "spaces": "collapse",
                "prefix": "first",
                "byte_fallback": True,
            },
            id="tokenizers",
        ),
    ],
)
def test_contract(options, tmp_path):
    tokens = [*VOCABULARY, *BYTES, ">>fra<<"]
    tokenizer = UnigramTokenizer(tokens, SCORES, [MAPPING], **options)
    check_tokenizer(tokenizer, TEXTS, tmp_path)
    assert tokenizer.scores == SCORES and tokenizer.replacements == [MAPPING]


def test_matches_the_equation():
    rng = random.Random(0)
    scores = random_scores(rng, "▁abc", 70)
    scores["▁"] = -4.0
    tokens = ["<unk>", *scores]
    tokenizer = UnigramTokenizer(tokens, scores)
    words = [
        ["".join(rng.choices("abcx", k=rng.randint(1, 9))) for _ in range(n)]
        for n in range(20)
    ]
    expected = []
    for row in words:
        text = "".join(f"▁{word}" for word in row)
        ids = [
            tokens.index(piece or "<unk>")
            for piece in by_the_book(text, scores, np.float32)
        ]
        # Unknown neighbours are one.
        expected.append(
            [i for n, i in enumerate(ids) if i or n == 0 or ids[n - 1]]
        )
    assert tokenizer([" ".join(row) for row in words]).to_list() == expected


def test_text_is_normalized_first():
    tokenizer = UnigramTokenizer(VOCABULARY, SCORES, [MAPPING, {"the": "as"}])
    same = tokenizer(["as as", "ﬁ\the", "\x01  the\tas "]).to_list()
    assert same[0] == same[2]
    assert same[1] == tokenizer(["as he"]).to_list()[0]


def test_pieces_outside_the_vocabulary_are_unknown_one_by_one():
    tokens = ["<unk>", "▁a", "b", "xy"]
    scores = {"▁a": -1.0, "b": -1.0, "c": -1.0, "▁": -2.0}
    tokenizer = UnigramTokenizer(tokens, scores)
    assert tokenizer(["acb ccxy"]).to_list() == [[1, 0, 2, 0, 0, 0, 0]]
    # Marian has ids for runs of unknown characters that are tokens.
    tokenizer = UnigramTokenizer(tokens, scores, marian=True)
    assert tokenizer(["acbxy xyx"]).to_list() == [[1, 0, 2, 3, 0, 0]]


def test_a_code_opens_a_text():
    tokens = [*VOCABULARY, ">>fra<<"]
    tokenizer = UnigramTokenizer(tokens, SCORES, marian=True)
    plain, coded, unknown = tokenizer(["a", ">>fra<< a", ">>x<<a"]).to_list()
    assert coded == [len(VOCABULARY), *plain] and unknown == [1, *plain]


def test_unknown_characters_are_bytes():
    tokenizer = UnigramTokenizer(
        [*VOCABULARY, *BYTES], SCORES, byte_fallback=True
    )
    ids = tokenizer(["aé漢"])
    first = tokenizer.id_of("<0x00>")
    expected = [first + byte for byte in "é漢".encode()]
    assert ids.to_list()[0][-5:] == expected
    assert tokenizer.detokenize(ids).numpy()[0].decode() == "aé漢"


def test_the_prefix_may_be_for_the_first_part_alone():
    tokenizer = UnigramTokenizer(
        VOCABULARY, SCORES, prefix="first", arithmetic="tokenizers"
    )
    tokenizer.added_tokens = [{"content": "</s>", "special": True}]
    a, marked = VOCABULARY.index("a"), VOCABULARY.index("▁a")
    ids = tokenizer(["a</s>a", "a</s> a"]).to_list()
    assert ids == [[marked, 3, a], [marked, 3, marked]]


@pytest.mark.parametrize(
    ("scores", "options", "complaint"),
    [
        (SCORES, {"spaces": "none"}, "`spaces` must be one of strip"),
        (SCORES, {"prefix": True}, "`prefix` must be one of always"),
        (SCORES, {"arithmetic": "float"}, "`arithmetic` must be one of"),
        (SCORES, {"byte_fallback": True}, "lacks '<0x00>'"),
        ({}, {}, "`scores` must hold"),
        ({"a": float("nan")}, {}, "`scores` must hold"),
        ({"": -1.0}, {}, "`scores` must hold"),
        (SCORES, {"unknown_token": "?"}, "not in the vocabulary"),
    ],
)
def test_bad_arguments_are_refused(scores, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        UnigramTokenizer(VOCABULARY, scores, **options)


@pytest.fixture(scope="module")
def texts():
    return sentence_piece_files.real_and_fuzzed()


def served(tokenizer, texts, folder):
    """What the tokenizer says in the C++ loader."""
    module = tf.Module()
    module.tokenizer = tokenizer

    def run(text):
        ids = tokenizer(text)
        return {"values": ids.values, "splits": ids.row_splits}

    spec = tf.TensorSpec([None], tf.string, "text")
    module.run = tf.function(run, input_signature=[spec], autograph=False)
    tf.saved_model.save(module, str(folder / "served"), {"run": module.run})
    text = np.array([text.encode() for text in texts], dtype=object)
    (answer,) = cpp_loader.run_requests(
        folder / "served", [("run", {"text": text})]
    )
    rows = np.split(answer["values"], answer["splits"][1:-1])
    return [row.tolist() for row in rows]


@pytest.mark.peers
@pytest.mark.parametrize(
    ("rule", "byte_fallback"),
    [("nmt_nfkc", False), ("identity", False), ("identity", True)],
)
def test_ids_are_those_of_sentencepiece(rule, byte_fallback, texts, tmp_path):
    import sentencepiece

    data = sentence_piece_files.trained(
        texts[:4000], rule=rule, byte_fallback=byte_fallback, size=2000
    )
    peer = sentencepiece.SentencePieceProcessor(model_proto=data)
    (tmp_path / "spiece.model").write_bytes(data)
    tokenizer = UnigramTokenizer.from_huggingface(tmp_path)
    batches = tf.data.Dataset.from_tensor_slices(texts).batch(1024)
    ids = [row for rows in batches.map(tokenizer) for row in rows.to_list()]
    expected = peer.encode(texts)
    assert ids == expected
    assert any(peer.unk_id() in row for row in ids) or byte_fallback
    if rule == "nmt_nfkc":
        assert served(tokenizer, texts[::70], tmp_path) == expected[::70]
    some = slice(None, None, 5)
    decoded = tokenizer.detokenize(tf.ragged.constant(ids[some])).numpy()
    # They write an unknown token as U+2047 between spaces.
    assert [text.decode() for text in decoded] == [
        text.replace(" \u2047 ", "<unk>") for text in peer.decode(ids[some])
    ]
