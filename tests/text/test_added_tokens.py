import pytest
import tensorflow as tf

from keras_attn.text import ByteTokenizer
from keras_attn.text import Tokenizer
from keras_attn.text import WordPieceTokenizer
from keras_attn.text.special_tokens import DEFAULT

PIECES = [*DEFAULT, "un", "hug", "##s", "<a>", "<ab>", "Tok", "hugs"]


def made(*tokens, **options):
    tokenizer = WordPieceTokenizer(PIECES, **options)
    tokenizer.added_tokens = tokens
    return tokenizer


def spelled(tokenizer, *texts):
    rows = tokenizer(list(texts)).to_list()
    return [[tokenizer.vocabulary[number] for number in row] for row in rows]


def test_a_name_in_a_text_is_text_unless_it_is_added():
    plain = WordPieceTokenizer(PIECES)
    assert plain.mask_id not in plain(["hug[MASK]s"]).values
    tokenizer = made({"content": "[MASK]", "special": True})
    assert spelled(tokenizer, "hug[MASK]uns", "un") == [
        ["hug", "[MASK]", "un", "##s"],
        ["un"],
    ]


def test_the_leftmost_token_is_taken_and_of_those_the_longest():
    tokenizer = made({"content": "hug"}, {"content": "hugs"})
    assert spelled(tokenizer, "unhugshug unhugs") == [
        ["un", "hugs", "hug", "un", "hugs"]
    ]


def test_rows_without_tokens_and_strings_that_are_no_text_stay_whole():
    tokenizer = made({"content": "<a>"})
    plain = WordPieceTokenizer(PIECES)
    for text in (b"hug <a\xff<a>", b"", b"hugs un"):
        both = tokenizer([text, b"<a>"]).to_list()
        assert both == [plain([text]).to_list()[0], [PIECES.index("<a>")]]
        assert tokenizer([text]).to_list() == plain([text]).to_list()


@pytest.mark.parametrize(
    ("side", "parts"),
    [
        ("lstrip", ["x", "<a>", " y"]),
        ("rstrip", ["x ", "<a>", "y"]),
        (None, ["x ", "<a>", " y"]),
    ],
)
def test_a_token_may_take_the_white_space_beside_it(side, parts):
    tokenizer = ByteTokenizer()
    tokenizer.added_tokens = [
        {"content": "[MASK]", **({side: True} if side else {})}
    ]
    ids = tokenizer("x [MASK] y").numpy().tolist()
    expected = [
        number
        for part in parts
        for number in (
            [tokenizer.mask_id]
            if part == "<a>"
            else tokenizer(part).numpy().tolist()
        )
    ]
    assert ids == expected


def test_a_normalized_token_is_looked_for_in_normalized_text():
    raw = made({"content": "Tok"}, lowercase=True)
    assert spelled(raw, "unTok tok") == [["un", "Tok", "[UNK]"]]
    found = made({"content": "Tok", "normalized": True}, lowercase=True)
    assert spelled(found, "unTok tok") == [["un", "Tok", "Tok"]]


def test_special_ones_are_not_written_and_others_are_text():
    tokenizer = made({"content": "<a>", "special": True}, {"content": "<ab>"})
    ids = tokenizer(["un<a>hug<ab>"])
    assert tokenizer.detokenize(ids).numpy() == [b"un hug <ab>"]
    kept = tokenizer.detokenize(ids, keep_special=True).numpy()
    assert kept == [b"un <a> hug <ab>"]


def test_they_are_saved_with_the_tokenizer(tmp_path):
    tokenizer = made({"content": "<a>", "lstrip": True}, {"content": "hugs"})
    tokenizer.save(tmp_path)
    loaded = Tokenizer.load(tmp_path)
    assert loaded.added_tokens == tokenizer.added_tokens
    text = ["un  <a>hugshug"]
    assert loaded(text).to_list() == tokenizer(text).to_list()
    assert loaded.id_of("<a>") in loaded(text).values


def test_it_works_for_texts_of_any_rank_and_in_graph():
    tokenizer = made({"content": "<a>"})
    grid = [["un<a>", "hug"], ["<a><a>", ""]]
    rows = tokenizer(grid).to_list()
    assert [[len(row) for row in line] for line in rows] == [[2, 1], [2, 0]]
    assert tokenizer("un<a>").numpy().tolist() == rows[0][0]
    in_graph = tf.function(tokenizer)(tf.constant(grid))
    assert in_graph.to_list() == rows


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ({"content": "<b>"}, "'<b>' is not in the vocabulary"),
        ({"content": "<a>", "single_word": True}, "'<a>' has single_word"),
    ],
)
def test_what_cannot_be_done_is_named(token, message):
    with pytest.raises(ValueError, match=message):
        made(token)
