import random

import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from keras_attn.text import tables
from keras_attn.text.segmentation.merge_order import NEVER
from keras_attn.text.segmentation.merges import Merges
from tests.text import textbook_bpe

# Text in which pairs of many ranks stand side by side.
PANGRAMS = (
    "the five boxing wizards jump quickly sphinx of black quartz judge my vow "
    "pack my box with five dozen liquor jugs how vexingly quick daft zebras "
    "jump waltz bad nymph for quick jigs vex glib jocks quiz nymph to vex dwarf"
)


def numbered(merges, letters):
    """Merges of strings as triples of numbers, and the numbers."""
    numbers = {letter: number for number, letter in enumerate(letters)}
    for pair in merges:
        numbers.setdefault("".join(pair), len(numbers))
    triples = [
        (numbers[left], numbers[right], numbers[left + right])
        for left, right in merges
    ]
    return triples, numbers


def merge_all(triples, num_symbols, words, mode=lambda function: function):
    owner = tf.Module()
    merges = Merges(triples, num_symbols, tables.AssetFolder(owner))
    flat = [symbol for word in words for symbol in [*word, merges.end]]
    symbols = mode(merges.__call__)(tf.constant(flat, tf.int64))
    rows, row = [], []
    for symbol in symbols.numpy().tolist():
        if symbol == merges.end:
            rows.append(row)
            row = []
        else:
            row.append(symbol)
    assert not row
    return rows


@st.composite
def merges_and_words(draw):
    """Any list: any order, repetitions, several ways to make a token."""
    letters = "abcd"[: draw(st.integers(1, 4))]
    tokens, merges = list(letters), []
    for _ in range(draw(st.integers(1, 25))):
        pair = draw(st.tuples(st.sampled_from(tokens), st.sampled_from(tokens)))
        merges.append(pair)
        if "".join(pair) not in tokens:
            tokens.append("".join(pair))
    for token in tokens:
        for cut in range(1, len(token)):
            pair = token[:cut], token[cut:]
            if {*pair} <= {*tokens} and draw(st.integers(0, 9)) == 0:
                merges.append(pair)
    if draw(st.booleans()):
        merges = draw(st.permutations(merges))
    words = st.lists(st.integers(0, len(letters) - 1), max_size=20)
    return merges, letters, draw(st.lists(words, min_size=1, max_size=40))


@settings(deadline=None, derandomize=True, max_examples=100)
@given(merges_and_words())
def test_all_words_at_once_are_merged_as_each_one_rank_by_rank(case):
    merges, letters, words = case
    triples, numbers = numbered(merges, letters)
    expected = [textbook_bpe.encode(word, triples) for word in words]
    assert merge_all(triples, len(numbers), words) == expected


@pytest.mark.parametrize("mode", [lambda function: function, tf.function])
@pytest.mark.parametrize(
    ("merges", "words"),
    [
        ("x|y xy|a a|b", {"xyab": "xya b", "xab": "x ab"}),
        ("c|d b|cd a|b", {"abcd": "a bcd", "abc": "ab c"}),
        ("a|a", {"aaaaa": "aa aa a", "": "", "baa": "b aa"}),
        # "ab" is used before it is made, and must not be made too early.
        ("z|ab m|n mn|z a|b", {"mnzab": "mnz ab", "zab": "zab"}),
        # Far from "wz", the first "mnq" waits in vain; the others must not
        # pair off while it does.
        (
            "w|z wz|z wzz|m m|n mn|q mnq|mnq",
            {"zzzzzz" + 3 * "mnq": "z z z z z z mnqmnq mnq", "wzzm": "wzzm"},
        ),
        ("a|b", {}),
    ],
    ids=["left", "right", "twins", "early", "far", "nothing"],
)
def test_what_goes_first_decides(merges, words, mode):
    merges = [tuple(merge.split("|")) for merge in merges.split()]
    triples, numbers = numbered(merges, "abcdmnqwxyz")
    expected = [
        [numbers[part] for part in row.split()] for row in words.values()
    ]
    words = [[numbers[letter] for letter in word] for word in words]
    assert merge_all(triples, len(numbers), words, mode) == expected


def test_without_merges_nothing_changes():
    assert merge_all([], 3, [[0, 1], [2]]) == [[0, 1], [2]]


def test_a_long_word_takes_few_rounds():
    merges = textbook_bpe.learn(PANGRAMS.split() * 2, 120)
    letters = sorted(set(PANGRAMS) - {" "})
    triples, numbers = numbered(merges, letters)
    rng = random.Random(3)
    word = [rng.randrange(len(letters)) for _ in range(3000)]
    word += [numbers[letter] for letter in PANGRAMS if letter != " "] * 5
    expected = textbook_bpe.encode(word, triples)
    assert merge_all(triples, len(numbers), [word]) == [expected]

    owner = tf.Module()
    loop = Merges(triples, len(numbers), tables.AssetFolder(owner))
    rounds = 0

    def count(*state):
        nonlocal rounds
        rounds += 1
        return Merges._merge_once(loop, *state)

    loop._merge_once = count
    loop(tf.constant([*word, loop.end], tf.int64))
    # One rank in each round would take about 100.
    assert 1 < rounds < 8


def test_too_many_merges_are_refused():
    with pytest.raises(ValueError, match=f"at most {NEVER - 1} merges"):
        Merges([(0, 0, 0)] * NEVER, 1, None)
