import pytest

from keras_attn.text.segmentation.merge_order import HANDICAPS
from keras_attn.text.segmentation.merge_order import NEVER
from keras_attn.text.segmentation.merge_order import pair_values

# Symbols: letters a b c d, then what is merged.
A, B, C, D, AB, BC, ABC, CD = range(8)


def test_a_pair_has_its_place_as_rank():
    values = pair_values([(A, B, AB), (C, D, CD)])
    assert values[A, B] == (0, NEVER, NEVER, 0)
    assert values[C, D] == (1, NEVER, NEVER, 0)
    assert len(values) == 2


def test_neighbours_know_what_may_grow_between_them():
    values = pair_values([(A, B, AB), (AB, C, ABC), (C, D, CD)])
    # Once "a" has grown on the left of "b", "abc" takes the "c" away.
    assert values[B, C] == (NEVER, 1, NEVER, 0)
    values = pair_values([(B, C, BC), (A, BC, ABC)])
    assert values[A, B] == (NEVER, NEVER, 1, 0)


def test_all_ways_to_make_a_symbol_count():
    values = pair_values([(A, B, AB), (B, C, BC), (AB, C, ABC), (A, BC, ABC)])
    assert values[B, C] == (1, 2, NEVER, 0)
    assert values[A, B] == (0, NEVER, 3, 0)


def test_of_a_merge_listed_twice_the_last_counts():
    values = pair_values([(A, B, AB), (C, D, CD), (A, B, AB)])
    assert values[A, B][0] == 2


def test_a_token_may_grow_letter_by_letter_without_end():
    merges = [(symbol, 0, symbol + 1) for symbol in range(3000)]
    values = pair_values(merges)
    assert values[7, 0] == (7, NEVER, NEVER, 0)
    assert values[0, 0] == (0, 1, NEVER, 1)


@pytest.mark.parametrize(
    ("merges", "handicap"),
    [
        ([(A, A, AB)], 1),
        ([(A, B, AB)], 0),
        ([(A, B, AB), (AB, C, ABC)], 0),
        ([(AB, C, ABC), (A, B, AB)], NEVER),
        ([(AB, C, ABC), (A, A, AB)], NEVER),
    ],
)
def test_twins_and_what_is_used_before_it_is_made_have_a_handicap(
    merges, handicap
):
    first = next(pair for *pair, merged in merges if merged == AB)
    assert HANDICAPS[pair_values(merges)[tuple(first)][3]] == handicap
