"""Sentences of a small grammar in two languages, with their alignment."""

import numpy as np
import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.data.builtin import grammar
from keras_attn.data.builtin.splits import SPLITS
from keras_attn.data.builtin.splits import check_split

NOUNS = grammar.ANIMATE + grammar.THINGS
NUM_DRAWS = 16  # as many as one clause needs
MAX_CLAUSES = 6


def phrases(
    split: str = "train",
    *,
    num_examples: int = 20_000,
    seed: int = 0,
    clauses: int | tuple[int, int] = 1,
) -> tf.data.Dataset:
    """Generate sentences whose every word is known to come from which.

    English is translated into a French with its verb last: "my dog never looks
    for a lemon" becomes "mon chien un citron ne cherche jamais". The tables are
    in `data.builtin.grammar`; they make more than 100 million sentences.

    What is held out are pairs of adjective and noun: one adjective of ten for
    each noun is in "validation" only, another in "test" only. Each clause of
    those splits has one such pair; its words are all in "train", apart.

    Args:
        split: "train", "validation" or "test".
        num_examples: How many sentences, no two alike.
        seed: Draws other sentences of the same split.
        clauses: How many clauses a sentence joins, 1 to 6; or the fewest and
            the most, of which each number is as frequent.

    Returns:
        `{"source", "target", "alignment"}`: two scalar strings, words between
        single spaces, and booleans (target, source), True where a target word
        comes from a source word, False after the last word: (16, 14) for one
        clause, and 17 and 15 more for each further one.
    """
    check_split(split)
    argument_checks.integer(num_examples, "num_examples", at_least=1)
    fewest, most = _read_clauses(clauses)
    rng = np.random.default_rng([seed, SPLITS.index(split)])
    sentences = {}
    while len(sentences) < num_examples:
        number = fewest
        if most > fewest:
            number = int(rng.integers(fewest, most + 1))
        parts = [_clause(split, rng.random(NUM_DRAWS)) for _ in range(number)]
        places = rng.integers(len(grammar.CONJUNCTIONS), size=number - 1)
        source, target, alignment = grammar.join(
            parts, [grammar.CONJUNCTIONS[place] for place in places]
        )
        sentences[source] = (target, alignment)
    alignments = np.zeros((num_examples, *grammar.longest(most)), bool)
    for padded, (_, alignment) in zip(
        alignments, sentences.values(), strict=True
    ):
        rows, columns = alignment.shape
        padded[:rows, :columns] = alignment
    return tf.data.Dataset.from_tensor_slices(
        {
            "source": list(sentences),
            "target": [target for target, _ in sentences.values()],
            "alignment": alignments,
        }
    )


def adjectives_of(noun: tuple, split: str) -> list[tuple]:
    """The adjectives that stand with a noun in a split: 8 of 10, 1 or 1."""
    held_out = {0: "test", 1: "validation"}
    start = NOUNS.index(noun)
    return [
        adjective
        for place, adjective in enumerate(grammar.ADJECTIVES)
        if held_out.get((start + place) % len(grammar.ADJECTIVES), "train")
        == split
    ]


def _read_clauses(clauses):
    """The fewest and the most clauses of a sentence."""
    bounds = clauses if isinstance(clauses, (tuple, list)) else (clauses,) * 2
    good = len(bounds) == 2 and all(map(argument_checks.is_integer, bounds))
    if not good or not 1 <= bounds[0] <= bounds[1] <= MAX_CLAUSES:
        raise ValueError(
            f"`clauses` must be an integer from 1 to {MAX_CLAUSES}, or two in "
            f"order, (fewest, most). Received: clauses={clauses!r}"
        )
    return bounds


def _clause(split, draws):
    """One clause, chosen by numbers from 0 to 1."""
    draws = iter(draws)

    def choose(table):
        return table[int(next(draws) * len(table))]

    def noun_phrase(noun, split):
        plural = choose([False, True])
        determiner = choose(grammar.PLURAL if plural else grammar.SINGULAR)
        adjective = choose(adjectives_of(noun, split))
        # Half of the nouns in "train" stand alone.
        if split == "train" and choose([False, True]):
            adjective = None
        return plural, determiner, noun, adjective

    subject = choose(grammar.ANIMATE)
    object = choose([noun for noun in NOUNS if noun != subject])
    splits = choose([(split, "train"), ("train", split)])
    return grammar.translate(
        noun_phrase(subject, splits[0]),
        choose(grammar.VERBS),
        noun_phrase(object, splits[1]),
        negation=choose([None] * len(grammar.NEGATIONS) + grammar.NEGATIONS),
        future=choose([False, True]),
        circumstance=choose(choose([[None], *grammar.CIRCUMSTANCES])),
    )
