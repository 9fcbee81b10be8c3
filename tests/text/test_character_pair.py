import pytest

from keras_attn.text.character_pair import CharacterPairTokenizer
from tests.text import textbook_bpe
from tests.text.contract import check_tokenizer

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
SPECIAL = ["<unk>", "<s>", "</s>"]
TOKENS = [*SPECIAL, *BYTES, *"▁helowrdé\n", "he", "ll", "▁w", "hell", "▁▁"]
MERGES = [("h", "e"), ("l", "l"), ("▁", "w"), ("he", "ll"), ("▁", "▁")]
TEXT = "hello world \n\n  hé"


def made(**options):
    return CharacterPairTokenizer(TOKENS, MERGES, **options)


def spelled(tokenizer, *texts):
    rows = tokenizer(list(texts)).to_list()
    return [[tokenizer.vocabulary[number] for number in row] for row in rows]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"prefix": "first", "byte_fallback": False, "split": True},
    ],
    ids=["llama", "first"],
)
def test_contract(options, tmp_path):
    check_tokenizer(made(**options), [TEXT], tmp_path)


def test_characters_are_merged_in_the_order_of_the_list():
    text = "▁" + TEXT.replace(" ", "▁")
    triples = [(left, right, left + right) for left, right in MERGES]
    assert spelled(made(), TEXT) == [textbook_bpe.encode(text, triples)]


@pytest.mark.parametrize(
    ("prefix", "one", "space", "after"),
    [
        ("text", "▁h", "▁▁h", "▁h"),
        ("always", "▁h", "▁h", "▁h"),
        ("first", "▁h", "▁h", "h"),
        ("never", "h", "▁h", "h"),
    ],
)
def test_a_prefix_is_put_where_it_is_wanted(prefix, one, space, after):
    tokenizer = made(prefix=prefix)
    tokenizer.added_tokens = [{"content": "</s>", "special": True}]
    rows = spelled(tokenizer, "h", " h", "</s>h", "")
    assert ["".join(row) for row in rows] == [one, space, f"</s>{after}", ""]


def test_unknown_characters_are_bytes_or_unknown():
    (row,) = spelled(made(prefix="never"), "hß€")
    assert row == ["h", "<0xC3>", "<0x9F>", "<0xE2>", "<0x82>", "<0xAC>"]
    fused = made(prefix="never", byte_fallback=False)
    assert spelled(fused, "hß€lß") == [["h", "<unk>", "l", "<unk>"]]
    apart = made(prefix="never", byte_fallback=False, fuse_unknown=False)
    assert spelled(apart, "hß€") == [["h", "<unk>", "<unk>"]]


def test_text_comes_back():
    tokenizer = made()
    texts = ["hello  wörld €", " two", "", "\n"]
    back = tokenizer.detokenize(tokenizer(texts)).numpy()
    assert [text.decode() for text in back] == texts


def test_words_are_cut_apart_only_where_no_merge_joins_them():
    across = CharacterPairTokenizer(
        [*TOKENS, "o▁", "o▁w"], [("o", "▁"), *MERGES, ("o▁", "w")]
    )
    assert across._rule is None and made()._rule == "all_marks"
    assert spelled(across, "hello wo ") == [["▁", "hell", "o▁w", "o▁"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((TOKENS, MERGES, {"prefix": "no"}), "`prefix` must be one of"),
        ((["a"], [], {}), "needs the tokens <0x00> to <0xFF>"),
        ((TOKENS, ["h"], {}), "A merge is two tokens"),
        ((TOKENS, ["h o"], {}), "needs the token 'ho'"),
    ],
)
def test_what_does_not_fit_is_named(arguments, message):
    *arguments, options = arguments
    with pytest.raises(ValueError, match=message):
        CharacterPairTokenizer(*arguments, **options)
