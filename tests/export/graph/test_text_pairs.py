import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export.graph.text_pairs import TextPairs
from keras_attn.text import ByteTokenizer
from keras_attn.text import WordPieceTokenizer
from keras_attn.text.layouts import join_pair
from keras_attn.text.template import Template
from tests.export import texts


@pytest.mark.parametrize("pairs", [False, True])
def test_rows_are_those_of_the_training_pipeline(pairs):
    tokenizer = ByteTokenizer()
    text = tf.constant(["abc", "de", "[MASK] é"])
    text_pair = tf.constant(["z", "", "xy"]) if pairs else None
    rows = TextPairs(tokenizer, max_length=16)(text, text_pair)
    expected = join_pair(
        tokenizer,
        *(tokenizer(t) for t in (text, text_pair) if t is not None),
    )
    for name in ("tokens", "segments"):
        np.testing.assert_array_equal(rows[name], expected[name].to_tensor())
    assert rows["valid"].numpy().tolist() == [True, not pairs, True]
    assert not rows["truncated"].numpy().any()


def read(text, text_pair=None, *, max_length):
    """The characters that are left of byte tokens, with < > for START, END."""
    rows = TextPairs(ByteTokenizer(), max_length=max_length)([text], text_pair)
    letters = {2: "<", 3: ">"}
    tokens = rows["tokens"].numpy()[0].tolist()
    line = "".join(letters.get(id) or chr(id - 5) for id in tokens)
    assert len(line) <= max_length
    segments = rows["segments"].numpy()[0].tolist()
    assert segments == [int(i > line.index(">")) for i in range(len(line))]
    return line, bool(rows["truncated"][0])


def test_a_text_that_is_too_long_keeps_its_end_token():
    assert read("abcd", max_length=6) == ("<abcd>", False)
    assert read("abcde", max_length=6) == ("<abcd>", True)


@pytest.mark.parametrize(
    ("text", "text_pair", "line", "truncated"),
    [
        ("abcd", "xyz", "<abcd>xyz>", False),
        ("abcdefg", "", "<abcdefg>>", False),
        ("abcdefgh", "", "<abcdefg>>", True),
        ("", "rstuvwxyz", "<>rstuvwx>", True),
        ("abcdefgh", "xy", "<abcde>xy>", True),
        ("ab", "rstuvwxyz", "<ab>rstuv>", True),
        ("abcdefgh", "rstuvwxyz", "<abcd>rst>", True),
    ],
)
def test_of_two_texts_the_longer_loses_first(text, text_pair, line, truncated):
    assert read(text, [text_pair], max_length=10) == (line, truncated)


def test_a_bad_row_is_flagged_and_read_as_empty():
    pairs = TextPairs(ByteTokenizer(), max_length=8)
    rows = pairs([b"a", b"\xff" * 9, b"b"], [b"c", b"d", b"\xff"])
    assert rows["valid"].numpy().tolist() == [True, False, False]
    assert not rows["truncated"].numpy().any()
    empty = pairs([""], [""])["tokens"].numpy()[0].tolist()
    assert rows["tokens"].numpy()[1].tolist() == [*empty, 0, 0]


def test_a_batch_without_rows_can_be_read():
    rows = TextPairs(ByteTokenizer(), max_length=8)(tf.zeros([0], tf.string))
    assert rows["tokens"].shape == rows["segments"].shape == (0, 2)


def test_a_tokenizer_without_a_part_is_refused():
    tokenizer = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "a"])
    with pytest.raises(ValueError, match="no END token"):
        TextPairs(tokenizer, max_length=8)


def test_a_length_without_room_is_refused():
    with pytest.raises(ValueError, match="max_length=3"):
        TextPairs(texts.tokenizer(), max_length=3)


def test_the_special_tokens_of_a_template_are_counted():
    tokenizer = ByteTokenizer()
    one = [[2, 0], ["A", 0], [3, 0]]
    tokenizer.template = Template(one, [*one, [3, 0], ["B", 0], [3, 0]])
    pairs = TextPairs(tokenizer, max_length=7)
    rows = pairs(["abcdef"], ["xyz"])
    a, b, x = tokenizer("abx").numpy().tolist()
    assert rows["tokens"].numpy().tolist() == [[2, a, b, 3, 3, x, 3]]
    assert rows["truncated"].numpy().all()
    assert not rows["segments"].numpy().any()
    rows = pairs(["abcdef"])
    letters = tokenizer("abcde").numpy().tolist()
    assert rows["tokens"].numpy().tolist() == [[2, *letters, 3]]
    with pytest.raises(ValueError, match="5 in all"):
        TextPairs(tokenizer, max_length=4)
