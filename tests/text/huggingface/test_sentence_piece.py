import pytest

from keras_attn.text.huggingface import sentence_piece
from tests.text import sentence_piece_files as written
from tests.text.sentence_piece.test_precompiled_map import compiled

PIECES = [
    ("<unk>", 0.0, written.UNKNOWN),
    ("</s>", 0.0, written.CONTROL),
    ("▁a", -1.5, written.NORMAL),
    ("b", -300.25, written.NORMAL),
]
LONG = [*PIECES, ("x" * 300, -2.0, written.NORMAL)]


def read(folder, *pieces, **specs):
    path = folder / "source.spm"
    path.write_bytes(written.model_proto(pieces or PIECES, **specs))
    return sentence_piece.read(path)


def test_pieces_and_defaults_are_read(tmp_path):
    model = read(tmp_path, *LONG)
    assert model["pieces"] == [piece for piece, _, _ in LONG]
    assert model["scores"] == {"▁a": -1.5, "b": -300.25, "x" * 300: -2.0}
    assert model["replacements"] == []
    assert model["arguments"] == {
        "spaces": "strip",
        "prefix": "always",
        "byte_fallback": False,
        "arithmetic": "sentencepiece",
        "unknown_token": "<unk>",
    }


def test_settings_are_read(tmp_path):
    model = read(
        tmp_path,
        trainer={3: 1, 35: 1, 10: 0.5},
        normalizer={1: b"rule", 2: compiled({"é": "e"}), 3: 0, 4: 0},
    )
    assert model["replacements"] == [{"é": "e"}]
    arguments = model["arguments"]
    assert arguments["spaces"] == "keep" and arguments["prefix"] == "never"
    assert arguments["byte_fallback"]


@pytest.mark.parametrize(
    ("pieces", "specs", "complaint"),
    [
        (PIECES, {"trainer": {3: 2}}, r"model_type is 'bpe'"),
        (PIECES, {"trainer": {24: 1}}, "treat_whitespace_as_suffix"),
        (PIECES, {"normalizer": {5: 0}}, "escape_whitespaces"),
        (PIECES[1:], {}, "number of UNKNOWN pieces is 0"),
        ([*PIECES, ("c", 0.0, written.USER_DEFINED)], {}, "USER_DEFINED"),
    ],
)
def test_what_cannot_be_expressed_is_named(tmp_path, pieces, specs, complaint):
    with pytest.raises(ValueError, match=rf"source\.spm.*{complaint}"):
        read(tmp_path, *pieces, **specs)


@pytest.mark.parametrize("size", [0, 1, 5, 20, -1])
def test_a_damaged_file_is_named(tmp_path, size):
    path = tmp_path / "source.spm"
    path.write_bytes(written.model_proto(PIECES)[:size])
    with pytest.raises(ValueError, match=r"source\.spm"):
        sentence_piece.read(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"source\.spm"):
        sentence_piece.read(tmp_path / "source.spm")
