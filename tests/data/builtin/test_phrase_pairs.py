import collections
import itertools

import pytest

from keras_attn.data.builtin import grammar
from keras_attn.data.builtin.phrase_pairs import phrases

SPLITS = ("train", "validation", "test")
ADJECTIVES = {row[0] for row in grammar.ADJECTIVES}
NOUNS = {
    word: row[0] for row in grammar.ANIMATE + grammar.THINGS for word in row[:2]
}


def sentences(split, num_examples=3000, **options):
    dataset = phrases(split, num_examples=num_examples, **options)
    ((batch),) = dataset.batch(num_examples).as_numpy_iterator()
    return [
        (source.decode().split(), target.decode().split(), alignment)
        for source, target, alignment in zip(
            batch["source"], batch["target"], batch["alignment"], strict=True
        )
    ]


@pytest.fixture(scope="module")
def splits():
    return {split: sentences(split) for split in SPLITS}


def adjective_noun_pairs(source):
    return {
        (word, NOUNS[following])
        for word, following in itertools.pairwise(source)
        if word in ADJECTIVES
    }


def test_shapes_are_known_before_the_first_sentence():
    dataset = phrases(num_examples=5)
    spec = dataset.element_spec
    assert spec["source"].shape == spec["target"].shape == ()
    assert spec["source"].dtype == spec["target"].dtype == "string"
    assert spec["alignment"].shape == (16, 14)
    assert spec["alignment"].dtype == "bool"
    assert len(dataset) == 5


def test_no_sentence_is_there_twice(splits):
    everything = [" ".join(s) for split in splits.values() for s, _, _ in split]
    assert len(set(everything)) == len(everything) == 9000


def test_a_sentence_speaks_of_two_different_things(splits):
    for source, _, _ in itertools.chain(*splits.values()):
        assert len({NOUNS[word] for word in source if word in NOUNS}) == 2


def test_a_sentence_has_one_translation(splits):
    found = {}
    for split in (*splits.values(), sentences("train", 9000, seed=7)):
        for source, target, _ in split:
            assert found.setdefault(tuple(source), target) == target


def test_held_out_splits_pair_words_that_train_keeps_apart(splits):
    pairs = {
        split: set().union(*(adjective_noun_pairs(s) for s, _, _ in sentences))
        for split, sentences in splits.items()
    }
    assert len(pairs["train"]) == 128
    for split, other in (("validation", "test"), ("test", "validation")):
        new = pairs[split] - pairs["train"]
        assert len(new) == 16
        assert new.isdisjoint(pairs[other])
        for source, _, _ in splits[split]:
            assert len(adjective_noun_pairs(source) & new) == 1


@pytest.mark.parametrize("side", [0, 1])
def test_every_held_out_word_is_in_train(splits, side):
    known = {word for pair in splits["train"] for word in pair[side]}
    for split in ("validation", "test"):
        assert known == {word for pair in splits[split] for word in pair[side]}


def test_every_word_is_aligned_and_nothing_beyond_the_words(splits):
    for source, target, alignment in splits["train"]:
        words = alignment[: len(target), : len(source)]
        assert words.any(axis=0).all()
        assert words.any(axis=1).all()
        assert alignment.sum() == words.sum()


def test_alignment_joins_words_that_mean_the_same(splits):
    meanings = {}
    for source, target, alignment in splits["train"]:
        for word, line in zip(target, alignment[: len(target)], strict=True):
            origin = [source[place] for place in line.nonzero()[0]]
            meanings.setdefault(word, set()).add(" ".join(origin))
    assert meanings["chevaux"] == {"horses"}
    assert meanings["feu"] == {"firefly", "fireflies"}
    assert meanings["lundi"] == {"on monday"}
    assert meanings["pas"] == {"not"}
    assert meanings["ne"] == {"not", "never", "no longer"}
    assert meanings["cherche"] == {"looks for", "does look for"}
    assert meanings["cherchera"] == {"will look for"}
    assert meanings["ce"] == {"this", "tonight"}


def test_word_order_differs(splits):
    # The object goes before the verb, so that some links always cross.
    for _, _, alignment in splits["train"]:
        first = alignment.argmax(axis=1)[alignment.any(axis=1)]
        assert (first[1:] < first[:-1]).any()


def test_another_seed_draws_other_sentences():
    def sources(seed):
        return [source for source, _, _ in sentences("train", 6, seed=seed)]

    assert sources(1) == sources(1)
    assert sources(1) != sources(2)


def test_a_number_below_one_is_refused():
    with pytest.raises(
        ValueError, match=r"`num_examples` must be.*at least 1.*0"
    ):
        phrases(num_examples=0)


def clauses_of(words):
    """The words between conjunctions."""
    between = {row[0] for row in grammar.CONJUNCTIONS}
    return [
        list(group)
        for is_between, group in itertools.groupby(words, between.__contains__)
        if not is_between
    ]


def test_clauses_are_joined_each_with_its_own_links():
    joined = sentences("test", 200, clauses=6)
    for source, target, alignment in joined:
        assert alignment.shape == (6 * 16 + 5, 6 * 14 + 5)
        clauses = clauses_of(source)
        assert len(clauses) == 6
        words = alignment[: len(target), : len(source)]
        assert words.any(axis=0).all()
        assert words.any(axis=1).all()
        assert alignment.sum() == words.sum()
        # A clause's words come from that clause: the links are blocks.
        first, rest = len(clauses[0]), words[:, len(clauses[0]) + 1 :]
        rows = words[:, :first].any(axis=1).sum()
        assert words[:rows, :first].any(axis=1).all()
        assert not rest[: rows + 1].any()
        # Each has a pair that training never shows.
        for clause in clauses:
            assert len(adjective_noun_pairs(clause)) >= 1


def test_the_number_of_clauses_varies_between_its_bounds():
    counts = collections.Counter(
        len(clauses_of(source))
        for source, _, _ in sentences("train", 600, clauses=(1, 3))
    )
    assert counts.keys() == {1, 2, 3}
    assert min(counts.values()) > 150


def test_joined_sentences_are_drawn_by_their_seed():
    def sources(seed):
        return [s for s, _, _ in sentences("train", 5, clauses=4, seed=seed)]

    assert sources(1) == sources(1)
    assert sources(1) != sources(2)


@pytest.mark.parametrize("clauses", [0, 7, (2, 1), (1, 7), (1, 2, 3), 1.5])
def test_a_number_of_clauses_that_is_none_is_refused(clauses):
    with pytest.raises(ValueError, match="`clauses` must be an integer from 1"):
        phrases(num_examples=2, clauses=clauses)
