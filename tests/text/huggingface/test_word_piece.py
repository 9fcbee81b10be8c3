import json
import pathlib

import pytest

from keras_attn.text.huggingface import word_piece

PATH = pathlib.Path("tokenizer.json")
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##e"]


def whole(**parts):
    vocab = {token: number for number, token in enumerate(PIECES)}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocab}
    return {"model": {**model, **parts.pop("model", {})}, **parts}


def test_the_normalizer_says_what_becomes_of_letters():
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    }
    tokenizer = word_piece.read(PATH, whole(normalizer=normalizer), {})
    assert tokenizer.lowercase and tokenizer.strip_accents
    assert tokenizer.clean_text
    assert tokenizer(["ÜNE"]).to_list() == [[5, 6]]


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({"normalizer": {"type": "NFKC"}}, "normalizer is 'NFKC'"),
        (
            {
                "normalizer": {
                    "type": "BertNormalizer",
                    "handle_chinese_chars": False,
                }
            },
            "handle_chinese_chars",
        ),
        ({"pre_tokenizer": {"type": "Digits"}}, "pre_tokenizer is 'Digits'"),
        (
            {"model": {"continuing_subword_prefix": "@@"}},
            "model.continuing_subword_prefix",
        ),
    ],
)
def test_other_parts_are_refused_by_name(parts, named):
    with pytest.raises(ValueError, match=f"tokenizer.json: .*{named}"):
        word_piece.read(PATH, whole(**parts), {})


def test_lines_are_read_with_the_settings(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES))
    tokenizer = word_piece.read_lines(tmp_path, {"unk_token": "un"})
    assert tokenizer.unknown_id == 5 and tokenizer.lowercase


@pytest.mark.peers
def test_ids_are_those_of_hugging_face(tmp_path):
    from tokenizers import BertWordPieceTokenizer

    from keras_attn.text import Tokenizer
    from tests.text import peers

    peer = BertWordPieceTokenizer()
    peer.train_from_iterator(
        peers.lines_to_read()[:6000], vocab_size=1500, show_progress=False
    )
    peer.save(str(tmp_path / "tokenizer.json"))
    config = {"mask_token": "[MASK]", "pad_token": "[PAD]"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    ours = Tokenizer.from_huggingface(tmp_path)
    texts = [line.replace(" the ", " [MASK]") for line in peers.lines_to_read()]
    expected = [
        each.ids for each in peer.encode_batch(texts, add_special_tokens=False)
    ]
    assert ours(texts).to_list() == expected
    assert any(ours.mask_id in row for row in expected)
