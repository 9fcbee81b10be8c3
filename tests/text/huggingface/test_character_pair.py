import pathlib

import pytest

from keras_attn.text.huggingface import character_pair

PATH = pathlib.Path("tokenizer.json")
PREPEND = {"type": "Prepend", "prepend": "▁"}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
METASPACE = {
    "type": "Metaspace",
    "replacement": "▁",
    "prepend_scheme": "first",
    "split": False,
}
RESTORE = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
FUSE = [{"type": "ByteFallback"}, {"type": "Fuse"}]
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
GEMMA = {
    "type": "Split",
    "pattern": {"String": " "},
    "behavior": "MergedWithPrevious",
    "invert": False,
}


def sequence(name, steps):
    return {"type": "Sequence", name: steps}


def whole(normalizer=(), before=None, decoder=None, **model):
    tokens = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), *"▁ab"]
    decoder = [RESTORE, *FUSE, STRIP] if decoder is None else decoder
    return {
        "model": {
            "type": "BPE",
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": [],
            "unk_token": "<unk>",
            "fuse_unk": True,
            "byte_fallback": True,
            **model,
        },
        "normalizer": sequence("normalizers", list(normalizer)),
        "pre_tokenizer": before,
        "decoder": sequence("decoders", decoder),
    }


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (whole([PREPEND, REPLACE]), ("text", False, True)),
        (whole(before=METASPACE), ("first", False, True)),
        (
            whole(before={"type": "Metaspace", "add_prefix_space": True}),
            ("always", True, True),
        ),
        (
            whole([REPLACE], GEMMA, [RESTORE, *FUSE]),
            ("never", False, False),
        ),
    ],
    ids=["llama2", "mistral", "old", "gemma"],
)
def test_the_parts_of_published_files_are_read(file, expected):
    tokenizer = character_pair.read(PATH, file, {})
    assert expected == (
        tokenizer.prefix,
        tokenizer.split,
        tokenizer.strip_prefix,
    )
    assert tokenizer.byte_fallback and tokenizer.fuse_unknown
    assert tokenizer.special_tokens.unknown == "<unk>"


@pytest.mark.parametrize(
    ("file", "named"),
    [
        (whole([{"type": "NFKC"}]), "normalizer is .*NFKC"),
        (whole(), "pre_tokenizer is None"),
        (whole(before=GEMMA), "pre_tokenizer is 'Split'"),
        (whole([PREPEND], METASPACE), "Metaspace is"),
        (whole([REPLACE], {"type": "Digits"}), "pre_tokenizer is 'Digits'"),
        (whole([REPLACE], decoder=[RESTORE]), "decoder is"),
        (whole([REPLACE], ignore_merges=True), "model.ignore_merges"),
        (
            whole([REPLACE], unk_token=None, byte_fallback=False),
            "model.unk_token is None",
        ),
    ],
)
def test_other_parts_are_refused_by_name(file, named):
    with pytest.raises(ValueError, match=f"tokenizer.json: {named}"):
        character_pair.read(PATH, file, {})


@pytest.mark.peers
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("llama2", 20_000),
        ("mistral", 2000),
        ("gemma", 20_000),
        ("always", 2000),
        ("unfused", 2000),
        ("across", 2000),
    ],
)
def test_ids_and_text_are_those_of_hugging_face(name, count, tmp_path):
    from tests.text import peers

    peers.check_trained(name, tmp_path, count)
