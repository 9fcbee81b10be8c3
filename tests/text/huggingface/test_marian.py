import json

import pytest
import tensorflow as tf

from keras_attn.text import Tokenizer
from keras_attn.text import UnigramTokenizer
from keras_attn.text import WordPieceTokenizer
from keras_attn.text import layouts
from tests.text import sentence_piece_files as written

SPECIAL = [
    ("<unk>", 0.0, written.UNKNOWN),
    ("<s>", 0.0, written.CONTROL),
    ("</s>", 0.0, written.CONTROL),
]
SOURCE = [*SPECIAL, ("▁a", -1.5, 1), ("b", -3.0, 1), ("c", -4.0, 1)]
TARGET = [*SPECIAL, ("▁", -2.0, 1), ("b", -3.0, 1), ("é", -4.0, 1)]
IDS = {"</s>": 0, "<unk>": 1, "▁a": 2, "b": 3, "▁": 4, "é": 5, ">>fra<<": 6}
IDS["<pad>"] = 7


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "source.spm").write_bytes(written.model_proto(SOURCE))
    (tmp_path / "target.spm").write_bytes(written.model_proto(TARGET))
    write(tmp_path, "vocab.json", IDS)
    return tmp_path


def write(folder, name, value):
    (folder / name).write_text(json.dumps(value), encoding="utf-8")


def test_each_side_is_cut_by_its_own_model(folder):
    both = Tokenizer.from_huggingface(folder)
    assert both.keys() == {"source", "target"}
    assert both["source"](["ab é", ">>fra<< ac"]).to_list() == [
        # No piece has ▁ alone here, so it is unknown with what follows it.
        [2, 3, 1],
        [6, 2, 1],
    ]
    assert both["target"](["ab é", "a</s>b"]).to_list() == [
        [4, 1, 3, 4, 5],
        [4, 1, 0, 4, 3],
    ]


def test_rows_end_and_nothing_starts_them(folder):
    tokenizer = Tokenizer.from_huggingface(folder)["source"]
    assert tokenizer.start_id is None and tokenizer.pad_id == 7
    row = layouts.source_row(tokenizer, tokenizer(["ab"]))
    assert row.to_list() == [[2, 3, 0]]


def test_vocabularies_may_be_separate(folder):
    write(folder, "tokenizer_config.json", {"separate_vocabs": True})
    other = {"</s>": 0, "<unk>": 1, "é": 2, "▁": 3, "<pad>": 4}
    write(folder, "target_vocab.json", other)
    both = Tokenizer.from_huggingface(folder)
    assert both["target"](["é"]).to_list() == [[3, 2]]
    assert both["source"].vocabulary_size == 8


@pytest.mark.parametrize(
    ("ids", "complaint"),
    [
        ({"</s>": 0, "<unk>": 2}, "without gap"),
        ([1, 2], "without gap"),
        ({"</s>": 0}, "lacks the token '<unk>'"),
        ({"<unk>": 0}, "lacks the token '</s>'"),
    ],
)
def test_a_bad_vocabulary_is_named(folder, ids, complaint):
    write(folder, "vocab.json", ids)
    with pytest.raises(ValueError, match=rf"vocab\.json.*{complaint}"):
        Tokenizer.from_huggingface(folder)


def test_both_sides_are_of_the_kind_that_is_asked_for(folder):
    assert set(UnigramTokenizer.from_huggingface(folder)) == {
        "source",
        "target",
    }
    with pytest.raises(ValueError, match="UnigramTokenizer, not a WordPiece"):
        WordPieceTokenizer.from_huggingface(folder)


def test_a_missing_side_is_named(folder):
    (folder / "target.spm").unlink()
    with pytest.raises(FileNotFoundError, match=r"target\.spm"):
        Tokenizer.from_huggingface(folder)


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_ids_are_those_of_transformers(tmp_path):
    import sentencepiece
    from transformers import MarianTokenizer

    texts = written.real_and_fuzzed(4000, 500)
    ids = {"</s>": 0, "<unk>": 1}
    for side, rule in (("source", "nmt_nfkc"), ("target", "identity")):
        data = written.trained(texts[:3000:2], rule=rule, size=1200)
        (tmp_path / f"{side}.spm").write_bytes(data)
        model = sentencepiece.SentencePieceProcessor(model_proto=data)
        # One in seven pieces is not in the vocabulary.
        for number in range(3, model.get_piece_size()):
            if number % 7:
                ids.setdefault(model.id_to_piece(number), len(ids))
    for token in (">>fra<<", "<pad>"):
        ids[token] = len(ids)
    write(tmp_path, "vocab.json", ids)
    names = ("source.spm", "target.spm", "vocab.json")
    peer = MarianTokenizer(*(str(tmp_path / name) for name in names))
    peer.save_pretrained(tmp_path)
    texts += [">>fra<< to", ">>xyz<<to", "to >>fra<<", "a</s>b", "a <unk> b"]
    for side, tokenizer in Tokenizer.from_huggingface(tmp_path).items():
        name = "text" if side == "source" else "text_target"
        expected = peer(**{name: texts}, add_special_tokens=False)["input_ids"]
        assert tokenizer(texts).to_list() == expected
        decoded = tokenizer.detokenize(tf.ragged.constant(expected)).numpy()
        assert [text.decode() for text in decoded] == peer.batch_decode(
            expected, skip_special_tokens=True
        )
        row = layouts.source_row(tokenizer, tokenizer(texts[:9])).to_list()
        assert row == peer(**{name: texts[:9]})["input_ids"]
