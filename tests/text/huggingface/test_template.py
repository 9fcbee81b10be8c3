import pathlib

import pytest

from keras_attn.text.huggingface import template

PATH = pathlib.Path("tokenizer.json")
LLAMA = {
    "type": "TemplateProcessing",
    "single": [
        {"SpecialToken": {"id": "<s>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
    ],
    "pair": [
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "<s>", "type_id": 1}},
        {"Sequence": {"id": "B", "type_id": 1}},
    ],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [1, 4], "tokens": []}},
}
BYTES = {"type": "ByteLevel", "trim_offsets": True}


def read(processor):
    return template.read(PATH, {"post_processor": processor})


def test_a_template_is_read():
    found = read({"type": "Sequence", "processors": [BYTES, LLAMA]})
    assert found == read(LLAMA)
    assert found.single == ((1, 0), (4, 0), ("A", 0))
    assert found.pair == (("A", 0), (1, 1), (4, 1), ("B", 1))


@pytest.mark.parametrize(
    ("kind", "pair"),
    [
        ("Bert", ((5, 0), ("A", 0), (6, 0), ("B", 1), (6, 1))),
        ("Roberta", ((5, 0), ("A", 0), (6, 0), (6, 0), ("B", 0), (6, 0))),
    ],
)
def test_those_of_bert_and_roberta_are_read(kind, pair):
    found = read(
        {"type": f"{kind}Processing", "sep": ["</s>", 6], "cls": ["<s>", 5]}
    )
    assert found.single == ((5, 0), ("A", 0), (6, 0))
    assert found.pair == pair


def test_what_adds_nothing_is_no_template():
    assert read(None) is None and read(BYTES) is None


@pytest.mark.parametrize(
    "processor",
    [{"type": "Other"}, {"type": "Sequence", "processors": [LLAMA, LLAMA]}],
)
def test_others_are_refused(processor):
    with pytest.raises(ValueError, match=r"json: post_processor is"):
        read(processor)
