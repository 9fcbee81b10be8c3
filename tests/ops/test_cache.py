import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.cache import CacheIndex
from keras_attn.ops.cache import fill
from keras_attn.ops.cache import write

ROWS, HEADS, DEPTH = 4, 2, 3
FAR = 11  # positions that the rows go on to


def numbered(length):
    """Heads that can be told apart by row, head, position and feature."""
    shape = (ROWS, HEADS, length, DEPTH)
    return 1.0 + np.arange(np.prod(shape), dtype="float32").reshape(shape)


class Ledger:
    """What slots hold, written down: for each row a dictionary."""

    def __init__(self, lengths, num_slots):
        self.num_slots = num_slots
        self.rows = [{} for _ in lengths]
        for row, length in enumerate(lengths):
            for position in range(length):
                self.put(row, position)

    def put(self, row, position):
        self.rows[row][position % self.num_slots] = position

    def check_cache(self, cache, heads):
        expected = np.zeros((ROWS, HEADS, self.num_slots, DEPTH))
        for row, slots in enumerate(self.rows):
            for slot, position in slots.items():
                expected[row, :, slot] = heads[row, :, position]
        np.testing.assert_array_equal(cache, expected)

    def check_positions(self, positions):
        assert positions.shape == (ROWS, self.num_slots)
        for row, slots in enumerate(self.rows):
            for slot in range(self.num_slots):
                if slot in slots:
                    assert positions[row, slot] == slots[slot]
                else:
                    assert positions[row, slot] < 0


LENGTHS = {
    "ragged": (6, [6, 1, 4, 5]),
    "with_an_empty_row": (5, [0, 5, 2, 3]),
    "one_token": (1, [1, 1, 0, 1]),
    "no_token": (0, [0, 0, 0, 0]),
}


@pytest.mark.parametrize("num_slots", [FAR + 1, 3, 1])
@pytest.mark.parametrize("case", LENGTHS)
def test_a_prompt_then_steps_are_kept_where_the_ledger_says(case, num_slots):
    prompt, lengths = LENGTHS[case]
    heads = numbered(FAR + 1)
    ledger = Ledger(lengths, num_slots)
    cache = fill(
        tf.constant(heads[:, :, :prompt]), tf.constant(lengths), num_slots
    )
    ledger.check_cache(cache, heads)

    positions = np.array(lengths, "int32")
    while positions.max() <= FAR:
        cache_index = CacheIndex(tf.constant(positions), num_slots)
        newest = np.stack(
            [heads[row, :, [p]] for row, p in enumerate(positions)]
        )  # (rows, 1, heads, depth)
        cache = write(cache, newest.swapaxes(1, 2), cache_index.is_newest())
        for row, position in enumerate(positions):
            ledger.put(row, position)
        ledger.check_cache(cache, heads)
        ledger.check_positions(cache_index.key_positions())
        positions += 1


def test_what_fills_a_prompt_up_is_not_kept():
    heads = numbered(5)
    lengths = tf.constant([2, 5, 0, 3])
    clean = fill(tf.constant(heads), lengths, 6)
    for row, length in enumerate(lengths):
        heads[row, :, int(length) :] = np.nan
    np.testing.assert_array_equal(fill(tf.constant(heads), lengths, 6), clean)


def test_before_the_first_token_every_slot_is_empty():
    positions = CacheIndex(tf.constant([-1, -1]), 4).key_positions()
    assert np.all(positions < 0)


@pytest.mark.parametrize("num_slots", [7, 3, 1])
def test_slots_are_counted_from_the_first_position_kept(num_slots):
    first = np.array([4, 0, 2, 9], "int32")
    shifted = [
        CacheIndex(tf.constant(first + step), num_slots, tf.constant(first))
        for step in range(6)
    ]
    for step, cache_index in enumerate(shifted):
        plain = CacheIndex(tf.constant([step]), num_slots)
        kept = plain.key_positions()
        expected = np.where(kept < 0, -1, kept + first[:, None])
        np.testing.assert_array_equal(
            np.maximum(cache_index.key_positions(), -1), expected
        )
        np.testing.assert_array_equal(
            cache_index.is_newest(), np.repeat(plain.is_newest(), 4, axis=0)
        )


def test_without_rolling_slots_are_the_same_until_they_are_full():
    first = tf.constant([4, 0, 2])
    for step in range(3):
        rolling = CacheIndex(first + step, 3, first)
        plain = CacheIndex(first + step, 3, first, rolls=False)
        np.testing.assert_array_equal(plain.is_newest(), rolling.is_newest())
        for one, other in zip(
            plain.key_positions(), rolling.key_positions(), strict=True
        ):
            np.testing.assert_array_equal(
                np.maximum(one, -1), np.maximum(other, -1)
            )
    full = CacheIndex(first + tf.constant([2, 3, 9]), 3, first, rolls=False)
    assert not np.any(full.is_newest()[1:])


def test_the_newest_slot_is_told_apart():
    newest = CacheIndex(tf.constant([0, 5, 3]), 4).is_newest()
    np.testing.assert_array_equal(
        newest[:, 0, :, 0],
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]],
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_the_dtype_stays(dtype):
    heads = tf.ones((2, 3, 4, 5), dtype)
    cache = fill(heads, tf.constant([4, 2]), 6)
    assert cache.dtype == dtype
    cache_index = CacheIndex(tf.constant([4, 2]), 6)
    assert write(cache, heads[:, :, :1], cache_index.is_newest()).dtype == dtype


def test_lengths_and_slots_may_be_known_to_the_graph_only():
    @tf.function(
        input_signature=[
            tf.TensorSpec([None, HEADS, None, DEPTH]),
            tf.TensorSpec([None], tf.int32),
            tf.TensorSpec([], tf.int32),
        ]
    )
    def keep(heads, lengths, num_slots):
        cache = fill(heads, lengths, num_slots)
        return write(
            cache,
            heads[:, :, :1],
            CacheIndex(lengths, num_slots).is_newest(),
        )

    heads = numbered(5)
    lengths = [2, 5, 0, 3]
    cache = keep(heads, tf.constant(lengths), tf.constant(7))
    ledger = Ledger(lengths, 7)
    cache = np.array(cache)
    for row, length in enumerate(lengths):
        np.testing.assert_array_equal(cache[row, :, length], heads[row, :, 0])
        cache[row, :, length] = 0
    ledger.check_cache(cache, heads)
