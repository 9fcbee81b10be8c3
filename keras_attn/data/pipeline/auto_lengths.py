"""Lengths of buckets, chosen from how long the examples are."""

import dataclasses
import sys
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.base.wait_notice import WaitNotice
from keras_attn.data.pipeline import lengths as sizes

# XLA compiles once for each bucket; a fifth hardly saves any padding.
MAX_BUCKETS = 4
# Accelerators compute in tiles of eight rows. Where rows are short, rounding up
# to eight would pad more than it saves.
MULTIPLES = (8, 4, 2)
SHORTEST_IN_MULTIPLES = 16
# Buckets that save a smaller share of all positions are not worth compiling.
LEAST_SAVED = 0.01
_AT_ONCE = 4096


@dataclasses.dataclass(frozen=True)
class LengthHistogram:
    """How many examples there are of each length.

    Args:
        lengths: (lengths,) int64, increasing: those that occur.
        counts: (lengths,) int64, how many examples have each.
        tokens: (lengths,) int64, how many elements all of their sequences
            have together.
        num_sequences: How many sequences an example has.
    """

    lengths: np.ndarray
    counts: np.ndarray
    tokens: np.ndarray
    num_sequences: int

    def by_bucket(self, lengths: Sequence[int]) -> tuple:
        """Numbers of examples and of elements in each bucket."""
        places = np.searchsorted(lengths, self.lengths)
        return tuple(
            np.bincount(places, numbers, len(lengths)).astype(int).tolist()
            for numbers in (self.counts, self.tokens)
        )


def auto_lengths(
    examples: tf.data.Dataset,
    batch_size: int = 1,
    *,
    max_buckets: int = MAX_BUCKETS,
    multiple: int | None = None,
) -> tuple[int, ...]:
    """Choose the `lengths` of `batches` that pad least.

        padding = Σ (length of the example's bucket - length of the example)

    It is the least that so many buckets can have. Of numbers of buckets the
    smallest is taken whose batches have at most 1 % more positions than those
    of `max_buckets`. Examples are read once, and standard error tells what was
    chosen and what share of the positions will be padding.

    Args:
        examples: As for `batches`, unbatched.
        batch_size: Examples that each bucket must hold at least.
        max_buckets: The most lengths.
        multiple: They are multiples of this; if None, of 8, 4 or 2, the
            greatest of which the longest example has sixteen.

    Returns:
        Increasing lengths, the last of which every example fits.
    """
    argument_checks.integer(max_buckets, "max_buckets", at_least=1)
    if multiple is not None:
        argument_checks.integer(multiple, "multiple", at_least=1)
    lengths, _ = choose_and_report(
        examples, batch_size, max_buckets=max_buckets, multiple=multiple
    )
    return lengths


def choose_and_report(
    examples: tf.data.Dataset,
    least: int,
    *,
    max_buckets: int = MAX_BUCKETS,
    multiple: int | None = None,
) -> tuple[tuple[int, ...], list[int]]:
    """Lengths as `auto_lengths` chooses them, and examples of each."""
    found = count_lengths(examples)
    if multiple is None:
        multiple = _multiple(found.lengths[-1])
    lengths = choose(found, least, max_buckets, multiple)
    report(found, lengths)
    return lengths, found.by_bucket(lengths)[0]


def count_lengths(examples: tf.data.Dataset) -> LengthHistogram:
    """Read all examples once and count the lengths that occur."""
    if examples.cardinality() == tf.data.INFINITE_CARDINALITY:
        raise ValueError(
            "Lengths cannot be chosen for examples without end. Put `repeat` "
            "after `batches`, or give `lengths`."
        )
    is_sequence = sizes.find_sequences(examples.element_spec)

    def measure(*example):
        sequences = [
            tf.shape(component, tf.int64)[0]
            for component, sequence in zip(
                tf.nest.flatten(example), is_sequence, strict=True
            )
            if sequence
        ]
        return tf.reduce_max(sequences), tf.reduce_sum(sequences)

    counts, tokens = np.zeros((2, 1), np.int64)
    with WaitNotice("keras_attn.data", "reading examples to choose lengths"):
        for batch in examples.map(measure).batch(_AT_ONCE).as_numpy_iterator():
            lengths, numbers = batch
            size = max(len(counts), lengths.max() + 1)
            counts = _add(counts, np.bincount(lengths, minlength=size))
            tokens = _add(tokens, np.bincount(lengths, numbers, size))
    occurring = np.flatnonzero(counts)
    if not len(occurring):
        raise ValueError("There are no examples to choose `lengths` from.")
    return LengthHistogram(
        occurring, counts[occurring], tokens[occurring], sum(is_sequence)
    )


def choose(
    found: LengthHistogram, least: int, max_buckets: int, multiple: int
) -> tuple[int, ...]:
    """Choose the lengths of buckets that pad least.

        cost(k, j) = min over i < j of cost(k - 1, i) + size(j) · (examples of
            lengths i + 1 to j),    at least `least` of them

    Args:
        found: How long examples are.
        least: Examples that a bucket must hold; where there are fewer
            altogether, they are in one bucket.
        max_buckets: The most lengths.
        multiple: They are multiples of this.
    """
    rounded = np.maximum(-(-found.lengths // multiple), 1) * multiple
    candidates, which = np.unique(rounded, return_inverse=True)
    total = np.append(0.0, np.cumsum(np.bincount(which, found.counts)))
    # `costs[k][j]` is that of k + 1 buckets for the first j candidates.
    costs = [np.where(total >= least, np.append(0, candidates) * total, np.inf)]
    costs[0][0] = np.inf
    starts = []
    for _ in range(1, min(max_buckets, len(candidates))):
        cost, start = np.full(len(total), np.inf), np.zeros(len(total), int)
        for end in range(1, len(total)):
            held = total[end] - total[:end]
            all_costs = costs[-1][:end] + candidates[end - 1] * held
            all_costs[held < least] = np.inf
            start[end] = np.argmin(all_costs)
            cost[end] = all_costs[start[end]]
        costs.append(cost)
        starts.append(start)
    totals = np.array([cost[-1] for cost in costs])
    if not np.isfinite(totals[0]):
        return (int(candidates[-1]),)
    saved_by_more = totals - totals.min()
    number = int(np.argmax(saved_by_more <= LEAST_SAVED * totals.min()))
    end, lengths = len(candidates), []
    for start in reversed(starts[:number]):
        lengths.insert(0, int(candidates[end - 1]))
        end = start[end]
    return int(candidates[end - 1]), *lengths


def report(found: LengthHistogram, lengths: Sequence[int]) -> None:
    """Print what was chosen, and what padding costs, on standard error."""
    counts, tokens = found.by_bucket(lengths)
    positions = [
        length * count * found.num_sequences
        for length, count in zip(lengths, counts, strict=True)
    ]
    rows = zip(lengths, counts, tokens, positions, strict=True)
    shortest, longest = found.lengths[[0, -1]]
    lines = [
        f"keras_attn.data: lengths={lengths} for {sum(counts):,} examples of "
        f"{shortest} to {longest}",
        f"{'length':>10}{'examples':>12}{'padding':>10}",
        *(_line(length, *numbers) for length, *numbers in rows),
        _line("all", sum(counts), sum(tokens), sum(positions)),
    ]
    if len(lengths) > 1:
        positions = lengths[-1] * sum(counts) * found.num_sequences
        lines.append(_line("one length", sum(counts), sum(tokens), positions))
    print("\n".join(lines), file=sys.stderr)


def _multiple(longest):
    fitting = [n for n in MULTIPLES if SHORTEST_IN_MULTIPLES * n <= longest]
    return max(fitting, default=1)


def _line(name, count, tokens, positions):
    return f"{name:>10}{count:>12,}{1 - tokens / positions:>10.1%}"


def _add(counts, more):
    longer = np.zeros(len(more), np.int64)
    longer[: len(counts)] = counts
    return longer + more.astype(np.int64)
