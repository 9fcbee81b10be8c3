import pytest

from keras_attn.text.special_tokens import DEFAULT
from keras_attn.text.word import WordTokenizer
from tests.text.contract import check_tokenizer

WORDS = ["the", "caf\u00e9", "cafe", "Caf\u00e9", "!", "don't", "don", "'", "t"]


@pytest.mark.parametrize(
    "options",
    [
        {"lowercase": True, "strip_accents": True},
        {"split": "whitespace"},
        {"tidy": True},
    ],
    ids=["normalised", "whitespace", "tidy"],
)
def test_contract(options, tmp_path):
    tokenizer = WordTokenizer([*DEFAULT, *WORDS], **options)
    check_tokenizer(tokenizer, ["the caf\u00e9 don't!", "t"], tmp_path)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["Caf\u00e9", "don", "'", "t", "!"]),
        ({"lowercase": True}, ["caf\u00e9", "don", "'", "t", "!"]),
        ({"strip_accents": True}, ["[UNK]", "don", "'", "t", "!"]),
        (
            {"lowercase": True, "strip_accents": True},
            ["cafe", "don", "'", "t", "!"],
        ),
        ({"split": "whitespace"}, ["Caf\u00e9", "[UNK]"]),
    ],
    ids=str,
)
def test_a_word_is_a_token(options, expected):
    tokenizer = WordTokenizer([*DEFAULT, *WORDS], **options)
    ids = tokenizer(["Caf\u00e9  don't!"]).to_list()[0]
    assert [tokenizer.vocabulary[number] for number in ids] == expected


def test_words_come_back_with_one_space_between_them():
    tokenizer = WordTokenizer([*DEFAULT, *WORDS])
    text = tokenizer.detokenize(tokenizer(["  the\tcaf\u00e9! the house"]))
    assert text.numpy()[0].decode() == "the caf\u00e9 ! the [UNK]"
    assert tokenizer.detokenize([[5, 10**9, -1]]).numpy() == [
        b"the [UNK] [UNK]"
    ]


def test_tidy_text_has_its_marks_where_a_writer_puts_them():
    tokenizer = WordTokenizer([*DEFAULT, *WORDS], tidy=True)
    ids = tokenizer(["the caf\u00e9 don't! the house"])
    text = tokenizer.detokenize(ids).numpy()[0].decode()
    assert text == "the caf\u00e9 don't! the [UNK]"
    assert tokenizer([text]).to_list() != ids.to_list()  # [UNK] is no text
    assert tokenizer([text[:-5]]).to_list() == ids[:, :-1].to_list()
    with pytest.raises(ValueError, match="leave `tidy` out"):
        WordTokenizer([*DEFAULT, *WORDS], tidy=True, split="whitespace")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lowercase": True}, ["a", "caf\u00e9", ",", "unheard"]),
        ({"split": "whitespace"}, ["A", "Caf\u00e9,", "unheard"]),
    ],
)
def test_words_are_split_as_the_tokenizer_does(options, words):
    tokenizer = WordTokenizer([*DEFAULT, *WORDS], **options)
    texts = ["A Caf\u00e9, unheard", ""]
    split = tokenizer.split_words(texts)
    assert split.to_list() == [[word.encode() for word in words], []]
    numbers = tokenizer(texts)
    assert numbers.row_lengths().numpy().tolist() == [len(words), 0]
    assert tokenizer.split_words([]).to_list() == []


def test_the_unknown_token_may_have_any_name():
    tokenizer = WordTokenizer(["<unk>", "a"], unknown_token="<unk>")
    assert tokenizer(["b a"]).to_list() == [[0, 1]]
    with pytest.raises(ValueError, match=r"unknown token '\[UNK\]' is not in"):
        WordTokenizer(["<unk>", "a"])


def test_a_way_of_splitting_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"punctuation.*whitespace.*'spaces'"):
        WordTokenizer([*DEFAULT], split="spaces")


def test_a_word_with_a_line_break_is_refused():
    with pytest.raises(ValueError, match="line break"):
        WordTokenizer([*DEFAULT, "a\nb"])
