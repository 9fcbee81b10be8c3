"""When a pair of symbols may be merged before its turn."""

import collections
from collections.abc import Iterable

# A rank higher than all others, for pairs that are never merged.
NEVER = 2**20 - 1

# By how much a rank must lie below what could take the left symbol away: for
# most pairs; for twins, since of "aaa" the first two go first; and for pairs
# that must wait for their turn, because the merged symbol takes part in a merge
# of lower rank.
HANDICAPS = (0, 1, NEVER)


def pair_values(merges: Iterable[tuple[int, int, int]]) -> dict:
    """What the merge loop must know of two neighbours.

    Byte-pair encoding merges the pair of lowest rank first. A pair may go
    earlier if no pair that would tear it apart has a lower rank, so the loop
    needs bounds: of all merges that could ever take the right neighbour away
    once the left one has grown, the lowest rank; and the mirror image.

    Args:
        merges: Symbols (left, right, merged) in order of rank.

    Returns:
        For (left, right): rank; lowest rank of (grown left, right); lowest
        rank of (left, grown right); and a place in `HANDICAPS`.
    """
    ranks, parts = {}, collections.defaultdict(set)
    # Of a merge that is listed twice, the last one counts, as elsewhere.
    for rank, (left, right, merged) in enumerate(merges):
        ranks[left, right] = rank, merged
        parts[merged].add((left, right))
    first_use = collections.defaultdict(lambda: NEVER)
    for (left, right), (rank, _) in ranks.items():
        first_use[left] = min(first_use[left], rank)
        first_use[right] = min(first_use[right], rank)

    def edge(symbol, side):
        """Symbols that may grow into this one by merges on the other side."""
        found, new = set(), [symbol]
        while new:
            grown = {pair[side] for pair in parts[new.pop()]} - found
            found |= grown
            new.extend(grown)
        return found

    grown_left = collections.defaultdict(lambda: NEVER)
    grown_right = collections.defaultdict(lambda: NEVER)
    for (left, right), (rank, _) in ranks.items():
        for symbol in edge(left, 1):
            key = symbol, right
            grown_left[key] = min(grown_left[key], rank)
        for symbol in edge(right, 0):
            key = left, symbol
            grown_right[key] = min(grown_right[key], rank)

    def values(pair):
        if pair not in ranks:
            return NEVER, grown_left[pair], grown_right[pair], 0
        rank, merged = ranks[pair]
        handicap = 2 if first_use[merged] < rank else int(pair[0] == pair[1])
        return rank, grown_left[pair], grown_right[pair], handicap

    return {
        pair: values(pair) for pair in {**ranks, **grown_left, **grown_right}
    }
