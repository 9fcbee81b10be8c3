import itertools
import re

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.pipeline.auto_lengths import LengthHistogram
from keras_attn.data.pipeline.auto_lengths import auto_lengths
from keras_attn.data.pipeline.auto_lengths import choose
from keras_attn.data.pipeline.auto_lengths import count_lengths


def pairs(*lengths):
    """Examples of two sequences, the second one token shorter."""
    numbers = tf.data.Dataset.from_tensor_slices(np.array(lengths, "int32"))
    return numbers.map(lambda n: ({"a": tf.ones(n)}, tf.ones(n - 1)))


def histogram(lengths):
    numbers, counts = np.unique(lengths, return_counts=True)
    return LengthHistogram(numbers, counts, numbers * counts, 1)


def positions(lengths, buckets):
    """How many positions batches have, padding included."""
    return sum(min(b for b in buckets if b >= n) for n in lengths)


def every_choice(lengths, least, max_buckets, multiple):
    """All buckets that are allowed, by trying them all."""
    longest = max(1, -(-max(lengths) // multiple)) * multiple
    below = range(multiple, longest, multiple)
    for number in range(max_buckets):
        for shorter in itertools.combinations(below, number):
            buckets = *shorter, longest
            held = np.bincount(np.searchsorted(buckets, lengths))
            if len(held) == len(buckets) and held.min() >= least:
                yield buckets


@pytest.mark.parametrize("least", [1, 7])
@pytest.mark.parametrize("max_buckets", [1, 2, 4])
def test_no_other_buckets_pad_less(least, max_buckets):
    rng = np.random.default_rng(max_buckets)
    for longest in (1, 6, 23, 40):
        lengths = rng.integers(0, longest + 1, size=rng.integers(8, 60))
        found = choose(histogram(lengths), least, max_buckets, 3)
        choices = list(every_choice(lengths, least, max_buckets, 3))
        assert found in choices
        best = min(positions(lengths, choice) for choice in choices)
        assert positions(lengths, found) <= 1.01 * best
        # With fewer buckets it would be worse than that.
        assert all(
            positions(lengths, choice) > 1.01 * best
            for choice in choices
            if len(choice) < len(found)
        )


def test_a_bucket_that_saves_nothing_is_not_made():
    assert choose(histogram([8] * 10 + [16] * 10), 1, 4, 8) == (8, 16)
    assert choose(histogram([15] * 500 + [16] * 500), 1, 4, 1) == (15, 16)
    assert choose(histogram([99] * 500 + [100] * 500), 1, 4, 1) == (100,)


def test_a_bucket_fills_a_batch_at_least():
    lengths = [5] * 50 + [40] * 3
    assert choose(histogram(lengths), 3, 4, 8) == (8, 40)
    assert choose(histogram(lengths), 4, 4, 8) == (40,)
    # Those that fill none at all are refused by who makes the batches.
    assert choose(histogram(lengths), 99, 4, 8) == (40,)


def test_the_lengths_of_all_examples_are_counted():
    found = count_lengths(pairs(3, 1, 3, 9))
    assert found.lengths.tolist() == [1, 3, 9]
    assert found.counts.tolist() == [1, 2, 1]
    assert found.tokens.tolist() == [1 + 0, 2 * (3 + 2), 9 + 8]
    assert found.num_sequences == 2


def test_the_table_tells_what_padding_costs(capsys):
    lengths = [2] * 30 + [3] * 30 + [14] * 20 + [9] * 20
    assert auto_lengths(pairs(*lengths), multiple=4) == (4, 12, 16)
    heading, _, *lines = capsys.readouterr().err.splitlines()
    assert "lengths=(4, 12, 16) for 100 examples of 2 to 14" in heading
    table = [re.findall(r"[\d.,]+", line) for line in lines]

    def share(real, length):
        padded = sum(2 * length(n) for n in real)
        return f"{100 * (1 - sum(2 * n - 1 for n in real) / padded):.1f}"

    def bucket(n):
        return min(b for b in (4, 12, 16) if b >= n)

    assert table == [
        ["4", "60", share([2] * 30 + [3] * 30, bucket)],
        ["12", "20", share([9] * 20, bucket)],
        ["16", "20", share([14] * 20, bucket)],
        ["100", share(lengths, bucket)],
        ["100", share(lengths, lambda n: 16)],
    ]


@pytest.mark.parametrize(
    ("longest", "last"),
    [(15, 15), (31, 31), (33, 34), (65, 68), (127, 128), (129, 136)],
)
def test_short_rows_are_rounded_less(longest, last, capsys):
    lengths = auto_lengths(pairs(*[longest // 2] * 5, *[longest] * 5))
    assert lengths[-1] == last
    assert last - longest < last / 16


def test_what_has_no_lengths_is_refused():
    with pytest.raises(ValueError, match="without end"):
        auto_lengths(pairs(3).repeat())
    with pytest.raises(ValueError, match="no examples to choose"):
        auto_lengths(pairs(3).take(0))
    with pytest.raises(ValueError, match=r"`max_buckets` must.*max_buckets=0"):
        auto_lengths(pairs(3), max_buckets=0)
    with pytest.raises(ValueError, match=r"`multiple` must.*multiple=True"):
        auto_lengths(pairs(3), multiple=True)
