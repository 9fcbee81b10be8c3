import pytest
import tensorflow as tf

from keras_attn.training.accelerator import chips
from keras_attn.training.accelerator.check import AcceleratorCheck
from keras_attn.training.accelerator.largest_batch import find_largest
from keras_attn.training.accelerator.largest_batch import rows_of
from keras_attn.training.accelerator.largest_batch import with_rows

FULL = chips.CHIPS["a100"].usable_bytes


def compiler(memory, tells=True):
    """One that needs `memory(rows)`, and the rows that it was asked for."""
    asked = []

    def compiled(rows):
        asked.append(rows)
        needed = int(memory(rows))
        fits = needed <= FULL
        total = needed if fits or tells else None
        return AcceleratorCheck("a100", fits, "", 1.0, total_bytes=total)

    return compiled, asked


def test_a_line_through_two_sizes_is_followed_and_tried():
    compiled, asked = compiler(lambda rows: FULL * (0.1 + 0.009 * rows))
    check = find_largest(compiled, 4)
    assert check.largest_batch == 96  # of 100, in eights
    assert check.fits and check.total_bytes == int(FULL * (0.1 + 0.009 * 96))
    assert asked == [4, 8, 96]


def test_what_the_line_promised_too_much_is_tried_again():
    compiled, asked = compiler(
        lambda rows: FULL * (0.009 * rows + 0.00001 * rows**2)
    )
    check = find_largest(compiled, 4)
    assert asked[:3] == [4, 8, 104] and len(asked) == 4
    assert check.largest_batch == asked[3] < 104
    assert check.fits


def test_a_compiler_that_only_refuses_is_asked_for_less():
    compiled, asked = compiler(lambda rows: FULL * 0.06 * rows, tells=False)
    check = find_largest(compiled, 10)
    assert asked == [10, 20, 5, 16]
    assert check.largest_batch == 16


def test_a_batch_that_does_not_fit_is_halved():
    compiled, asked = compiler(lambda rows: FULL * 0.06 * rows, tells=False)
    assert find_largest(compiled, 40).largest_batch == 10
    assert asked == [40, 20, 10]


@pytest.mark.parametrize(("rows", "tried"), [(1, [1]), (40, [40, 20, 10, 5])])
def test_what_never_fits_is_told(rows, tried):
    compiled, asked = compiler(lambda rows: 2 * FULL)
    check = find_largest(compiled, rows)
    assert asked == tried
    assert check.largest_batch == 0 and not check.fits


def test_memory_that_does_not_grow_is_not_followed():
    compiled, asked = compiler(lambda rows: FULL / 2)
    assert find_largest(compiled, 4).largest_batch == 8
    assert asked == [4, 8]


def test_rows_are_those_of_every_tensor_of_a_batch():
    spec = (
        {"a": tf.TensorSpec((4, 5)), "b": None},
        tf.TensorSpec((4,), "int8"),
    )
    assert rows_of(spec) == 4
    inputs, labels = with_rows(spec, 7)
    assert inputs == {"a": tf.TensorSpec((7, 5)), "b": None}
    assert labels == tf.TensorSpec((7,), "int8")
