"""Byte-pair encoding as the textbook has it: one word, one pair at a time."""

import collections
from itertools import pairwise


def learn(words, num_merges):
    """Merges of tokens (strings), the commonest pair first."""
    words, merges = [list(word) for word in words], []
    for _ in range(num_merges):
        counts = collections.Counter(
            pair for word in words for pair in pairwise(word)
        )
        if not counts:
            break
        pair = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(pair)
        words = [_merge(word, pair, pair[0] + pair[1]) for word in words]
    return merges


def encode(word, merges):
    """Merge (left, right, merged) triples in a word, lowest rank first."""
    found = {}
    for rank, (left, right, merged) in enumerate(merges):
        found[left, right] = rank, merged
    word = list(word)
    while pairs := [pair for pair in pairwise(word) if pair in found]:
        pair = min(pairs, key=found.get)
        # The first of equals alone: what it makes may be merged before them.
        place = pairs_at(word).index(pair)
        word[place : place + 2] = [found[pair][1]]
    return word


def pairs_at(word):
    """The pair that stands at each place."""
    return list(pairwise(word))


def _merge(word, pair, merged):
    result = []
    for symbol in word:
        if result and (result[-1], symbol) == pair:
            result[-1] = merged
            # What was merged in this round does not take part in it again.
            result.append(None)
        else:
            result.append(symbol)
    return [symbol for symbol in result if symbol is not None]
