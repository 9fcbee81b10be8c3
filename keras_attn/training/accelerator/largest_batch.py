"""The largest batch that fits a chip, from few compilations."""

import dataclasses

import tensorflow as tf

from keras_attn.training.accelerator import chips
from keras_attn.training.accelerator.check import AcceleratorCheck


def find_largest(compiled, rows: int) -> AcceleratorCheck:
    """Follow memory along the rows of a batch to where the chip is full.

        memory(rows) = memory(rows_1) + slope · (rows - rows_1)

    Args:
        compiled: From a number of rows to an `AcceleratorCheck`. It is called
            four times at the most.
        rows: Where to begin.

    Returns:
        The check of the most rows that were tried and fit, their number as
        its `largest_batch`; 0 if none did, with the last refusal.
    """
    tried = {}

    def attempt(rows):
        tried[rows] = compiled(rows)
        return tried[rows].fits

    if attempt(rows):
        if not attempt(2 * rows) and rows > 1:
            attempt(rows // 2)
        guess = _full(tried)
        # A line is the shape of memory only about: one step down, if that.
        for _ in range(4 - len(tried)):
            if guess is None or guess in tried or attempt(guess):
                break
            guess = _rounded(guess * 15 // 16)
    else:
        while rows > 1 and len(tried) < 4:
            rows //= 2
            if attempt(rows):
                break
    fits = [rows for rows, check in tried.items() if check.fits]
    most = max(fits, default=0)
    check = tried[most] if fits else tried[min(tried)]
    return dataclasses.replace(check, largest_batch=most)


def rows_of(spec) -> int:
    """Rows of a batch, of which every tensor has as many."""
    leaves = [leaf for leaf in tf.nest.flatten(spec) if leaf is not None]
    return leaves[0].shape[0]


def with_rows(spec, rows: int):
    """The same batch with other rows."""
    return tf.nest.map_structure(
        lambda leaf: (
            None
            if leaf is None
            else tf.TensorSpec((rows, *leaf.shape[1:]), leaf.dtype)
        ),
        spec,
    )


def _full(tried):
    """Rows at which the memory of the chip ends; None if nobody can tell."""
    known = [(n, x.total_bytes) for n, x in tried.items() if x.total_bytes]
    if len(known) < 2:
        return None
    (first, low), (second, high) = sorted(known)[:2]
    slope = (high - low) / (second - first)
    if slope <= 0:
        return None
    (check, *_) = tried.values()
    left = chips.find(check.target).usable_bytes - low
    return _rounded(first + int(left / slope))


def _rounded(rows):
    """A multiple of 8, as chips pad to, where that is a small difference."""
    return max(rows // 8 * 8 if rows >= 16 else rows, 1)
