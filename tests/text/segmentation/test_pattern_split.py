import unicodedata

import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from keras_attn.text.segmentation.byte_letters import spell
from keras_attn.text.segmentation.pattern_split import split_words

# White space of all kinds; what some take for white space; letters, digits and
# signs of several scripts; emoji with joiners; control characters.
SPACES = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2003\u200a\u2028\u2029\u202f\u205f\u3000"
)
NOT_SPACES = "\x00\x01\x1c\x1d\x1e\x1f\x7f\u180e\u200b\u200d\u2060\ufeff\ufffd"
OTHERS = "'strevmlldx SDé\u0301ßæ漢字שלוםش1½²٣Ⅷ.,!-_$€°…ĠÿＡ👩🏽\u200d❤\ufe0f"
CHARACTERS = SPACES + NOT_SPACES + OTHERS + "'  "
TEXTS = st.lists(st.text(CHARACTERS, max_size=12), min_size=1, max_size=20)
# Bytes that are not UTF-8, the mark among them, between some that are.
NOT_UTF8 = [b"\xff", b"\xfe", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80"]
UTF8 = [b"ab", b" ", b"'s", b"\xc3\xa9", b"1", b"\x00"]
BYTE_STRINGS = st.lists(
    st.lists(st.sampled_from([*NOT_UTF8, *UTF8])).map(b"".join),
    min_size=1,
    max_size=20,
)

CONTRACTIONS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")


def by_hand(text):
    """GPT-2's pattern, tried alternative by alternative at each place."""
    words, start = [], 0
    while start < len(text):
        end = start + match_length(text[start:])
        words.append(text[start:end])
        start = end
    return words


def match_length(text):
    for contraction in CONTRACTIONS:
        if text.startswith(contraction):
            return len(contraction)
    space = text[0] == " " and len(text) > 1
    for kind in ("letter", "digit", "other"):
        if length := run_length(text[space:], kind):
            return space + length
    spaces = run_length(text, "space")
    if spaces == len(text) or spaces == 1:
        return spaces
    return spaces - 1  # the last one does not stand before a space


def run_length(text, kind):
    length = 0
    while length < len(text) and kind_of(text[length]) == kind:
        length += 1
    return length


def kind_of(character):
    if character in SPACES:
        return "space"
    category = unicodedata.category(character)[0]
    return {"L": "letter", "N": "digit"}.get(category, "other")


# Traced once for all tests.
split_in_graph = tf.function(
    split_words, input_signature=[tf.TensorSpec([None], tf.string)]
)


def words_of(texts):
    rows = split_in_graph(tf.constant(texts)).to_list()
    return [[word for word in row if word] for row in rows]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("Hello world", ["Hello", " world"]),
        (
            "don't we'll 's 'S",
            ["don", "'t", " we", "'ll", " '", "s", " '", "S"],
        ),
        ("a  b   c ", ["a", " ", " b", "  ", " c", " "]),
        ("a\n\n b\t\tc", ["a", "\n\n", " b", "\t", "\t", "c"]),
        ("x12y ½!? $5", ["x", "12", "y", " ½", "!?", " $", "5"]),
        ("a\xa0b \u3000c", ["a", "\xa0", "b", " ", "\u3000", "c"]),
    ],
)
def test_words_take_the_space_before_them(text, words):
    assert words_of([text]) == [[word.encode() for word in words]]


@pytest.mark.parametrize(
    ("rule", "text", "words"),
    [
        ("llama3", "it'S 12345!\n\n  a", "it|'S| |123|45|!\n\n| | a"),
        ("qwen2", "it'S 123 \n \tb \n", "it|'S| |1|2|3| \n| |\tb| \n"),
        ("llama3", "a  \n\n b.c\r\n  ", "a|  \n\n| b|.c|\r\n|  "),
        ("one_mark", "a▁▁b▁", "a|▁|▁b|▁"),
        ("all_marks", "a▁▁b▁", "a|▁▁b|▁"),
    ],
)
def test_other_rules_split_elsewhere(rule, text, words):
    (row,) = split_words(tf.constant([text]), rule).to_list()
    assert b"|".join(word for word in row if word) == words.encode()


@settings(deadline=None, derandomize=True, max_examples=60)
@given(TEXTS)
def test_text_is_split_where_the_pattern_says(texts):
    expected = [[word.encode() for word in by_hand(text)] for text in texts]
    assert words_of(texts) == expected


@settings(deadline=None, derandomize=True, max_examples=30)
@given(BYTE_STRINGS)
def test_no_byte_is_lost_even_where_it_is_not_utf8(strings):
    assert [b"".join(row) for row in words_of(strings)] == strings


def test_the_mark_in_a_text_does_not_change_the_rest():
    before, after = words_of([b"don't  go\xff\xff now\xff", b"don't  go"])
    assert before == [*after, b"\xff", b"\xff", b" now", b"\xff"]


@pytest.mark.peers
@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.lists(
        st.text(
            st.characters(exclude_categories=["Cs"]).filter(
                # RE2 and Hugging Face have different versions of Unicode:
                # only what both have had for long can agree.
                lambda sign: unicodedata.ucd_3_2_0.category(sign) != "Cn"
            )
            | st.sampled_from(CHARACTERS),
            max_size=12,
        ),
        min_size=1,
        max_size=40,
    )
)
def test_text_is_split_where_hugging_face_does(texts):
    from tokenizers.pre_tokenizers import ByteLevel

    peer = ByteLevel(add_prefix_space=False)
    expected = [
        [word for word, _ in peer.pre_tokenize_str(text)] for text in texts
    ]
    assert [
        [spell(word) for word in row] for row in words_of(texts)
    ] == expected
