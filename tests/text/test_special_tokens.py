import pytest

from keras_attn.text.special_tokens import DEFAULT
from keras_attn.text.special_tokens import SpecialTokens


def find(tokens, chosen=None):
    return SpecialTokens.find(
        {token: place for place, token in enumerate(tokens)}, chosen
    )


@pytest.mark.parametrize(
    ("tokens", "special"),
    [
        (DEFAULT, ["[PAD]", "[START]", "[END]", "[UNK]", "[MASK]"]),
        (
            ["[MASK]", "[SEP]", "[CLS]", "[UNK]", "[PAD]"],
            ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"],
        ),
        (
            ["<|endoftext|>", "a"],
            [None, "<|endoftext|>", "<|endoftext|>", None, None],
        ),
        (
            ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
            ["<pad>", "<s>", "</s>", "<unk>", "<mask>"],
        ),
        (["a"], [None] * 5),
    ],
    ids=["ours", "bert", "gpt2", "bart", "none"],
)
def test_usual_names_are_found(tokens, special):
    found = find(tokens)
    assert [
        found.pad,
        found.start,
        found.end,
        found.unknown,
        found.mask,
    ] == special


def test_what_is_chosen_goes_first_and_none_takes_a_part_away():
    found = find(["a", "[PAD]", "[MASK]"], {"pad": "a", "mask": None})
    assert found == SpecialTokens(pad="a")


def test_they_are_a_mapping_of_the_parts_that_are_played():
    found = find(["<s>", "a", "[PAD]"])
    assert dict(found) == {"pad": "[PAD]", "start": "<s>"} == found
    assert list(found) == ["pad", "start"] and len(found) == 2
    assert "end" not in found and found.end is None
    with pytest.raises(KeyError):
        found["end"]
    assert find(["<s>", "a", "[PAD]"], found) == found


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"padding": "a"}, r"has the parts .*'pad'.* Received: \['padding'\]"),
        ({"end": "z"}, "The end token 'z' is not in the vocabulary"),
    ],
)
def test_a_wrong_choice_is_refused(chosen, message):
    with pytest.raises(ValueError, match=message):
        find(["a"], chosen)
