"""What positions do to heads and scores, as functions of the positions."""

import math

import keras
import numpy as np
import tensorflow as tf
from keras import ops


def rotary_angles(
    positions,
    num_pairs: int,
    base: float = 10000.0,
    scaling: dict | None = None,
):
    """Angle by which each pair of features is turned at each position.

        angle(p, i) = p · base^(-i / num_pairs)

    Always float32: bfloat16 cannot tell position 3000 from 3004.

    Args:
        positions: (batch or 1, length) integers.
        num_pairs: Half the number of features that are turned.
        base: The slowest pair turns about once in 2π · base positions.
        scaling: How the frequencies are lowered, as for `Rotary`; or None.

    Returns:
        (batch or 1, length, num_pairs) floats.

    Reference:
        Su et al. 2021, section 3.2.2. https://arxiv.org/abs/2104.09864
    """
    frequencies = base ** (-np.arange(num_pairs) / num_pairs)
    if scaling is not None:
        frequencies = _lowered(frequencies, **scaling)
    positions = ops.cast(positions, "float32")[:, :, None]
    return positions * ops.convert_to_tensor(frequencies, dtype="float32")


def _lowered(
    frequencies, kind, factor, low=None, high=None, original_length=None
):
    """Lower all frequencies, or those of few turns in `original_length`."""
    slow = frequencies / factor
    if kind == "linear":
        return slow
    turns = original_length * frequencies / (2 * math.pi)
    kept = np.clip((turns - low) / (high - low), 0, 1)
    return kept * frequencies + (1 - kept) * slow


def rotate_pairs(heads, angles, *, interleaved: bool = False):
    """Turn the first features of each head, pair by pair.

        (a, b) → (a · cos(angle) - b · sin(angle),
                  b · cos(angle) + a · sin(angle))

    Args:
        heads: (batch, length, heads, depth).
        angles: (batch or 1, length, pairs), with 2 · pairs <= depth.
        interleaved: Whether neighbours make a pair (0, 1), (2, 3), … rather
            than feature i and feature i + pairs.

    Returns:
        Like `heads`; features from 2 · pairs on are left as they are.
    """
    # At least float32: the products of cosines and features must not round
    # more than the features themselves did.
    dtype = keras.backend.result_type(heads.dtype, "float32")
    num_pairs = angles.shape[-1]
    turned = ops.cast(heads[..., : 2 * num_pairs], dtype)
    rest = heads[..., 2 * num_pairs :]
    angles = ops.cast(angles, dtype)[:, :, None]  # (batch, length, 1, pairs)
    cosine, sine = ops.cos(angles), ops.sin(angles)
    if interleaved:
        a, b = turned[..., 0::2], turned[..., 1::2]
    else:
        a, b = turned[..., :num_pairs], turned[..., num_pairs:]
    a, b = a * cosine - b * sine, b * cosine + a * sine
    if interleaved:
        turned = ops.stack([a, b], axis=-1)  # (…, heads, pairs, 2)
        turned = ops.reshape(turned, (*ops.shape(a)[:-1], 2 * num_pairs))
    else:
        turned = ops.concatenate([a, b], axis=-1)
    return ops.concatenate([ops.cast(turned, heads.dtype), rest], axis=-1)


def alibi_slopes(num_heads: int) -> list[float]:
    """Slope of the penalty on distance, one for each head.

        slope(i) = 2^(-8 i / num_heads)        i = 1 … num_heads

    for a power of two. Otherwise the next lower power of two is filled up
    with every other slope of the next higher one.

    Args:
        num_heads: Number of heads, 1 or more.

    Returns:
        `num_heads` slopes between 0 and 1.

    Reference:
        Press et al. 2022, section 3. https://arxiv.org/abs/2108.12409
    """
    power = 2 ** int(math.log2(num_heads))
    slopes = [2 ** (-8 * i / power) for i in range(1, power + 1)]
    between = [2 ** (-8 * i / (2 * power)) for i in range(1, 2 * power, 2)]
    return slopes + between[: num_heads - power]


def relative_buckets(
    query_positions,
    key_positions,
    *,
    num_buckets: int = 32,
    max_distance: int = 128,
    bidirectional: bool = True,
):
    """Sort distances into buckets: near ones exactly, far ones by logarithm.

        bucket(n) = n                                                  n < e
                    e + ⌊log(n / e) / log(max_distance / e) · (b - e)⌋ n >= e

    with n = |distance|, b the number of buckets for one direction, e = ⌊b / 2⌋,
    and everything from `max_distance` on in the last bucket.

    Args:
        query_positions: (batch or 1, query) integers.
        key_positions: (batch or 1, key) integers.
        num_buckets: Number of buckets.
        max_distance: Distance at which the last bucket is reached.
        bidirectional: Whether the second half of the buckets is for keys that
            come after the query. If not, those count as distance 0.

    Returns:
        (batch or 1, query, key) integers below `num_buckets`.

    Reference:
        Raffel et al. 2020, section 2.1. https://arxiv.org/abs/1910.10683
    """
    distance = query_positions[:, :, None] - key_positions[:, None, :]
    if not bidirectional:
        table = _bucket_table(num_buckets, max_distance)
        clipped = ops.clip(distance, 0, max_distance)
        return ops.take(table, clipped, axis=0)
    half = num_buckets // 2
    table = _bucket_table(half, max_distance)
    clipped = ops.clip(distance, -max_distance, max_distance)
    bucket = ops.take(table, ops.abs(clipped), axis=0)
    return bucket + half * ops.cast(distance < 0, "int32")


def _bucket_table(num_buckets, max_distance):
    """Bucket of each distance from 0 to `max_distance`, in one direction.

    Whole numbers, because a logarithm in float32 is free to land on either
    side of a boundary such as log(2) / log(16) · 8 = 2:
    n >= e · (max_distance / e)^(j / m)  ⇔  n^m >= e^(m - j) · max_distance^j.
    """
    exact = num_buckets // 2
    steps = num_buckets - exact
    boundaries = list(range(1, exact + 1))
    for j in range(1, steps):
        n = int(exact * (max_distance / exact) ** (j / steps)) - 1
        while n**steps < exact ** (steps - j) * max_distance**j:
            n += 1
        boundaries.append(n)
    table = np.searchsorted(boundaries, np.arange(max_distance + 1), "right")
    return ops.convert_to_tensor(table, dtype="int32")


def sinusoidal_encoding(
    positions, units: int, base: float = 10000.0, *, interleaved: bool = True
):
    """Vectors of sines and cosines that tell a position.

        encoding(p, 2i) = sin(p / base^(2i / units)), encoding(p, 2i + 1) = cos

    Args:
        positions: (batch or 1, length) integers.
        units: Length of a vector; if odd, the last cosine is left out.
        base: How far the frequencies fall, from 1 to about 1 / base.
        interleaved: Whether sines and cosines take turns; if not, all sines
            stand before all cosines.

    Returns:
        (batch or 1, length, units) float32.
    """
    frequencies = base ** (-np.arange(0, units, 2) / units)
    positions = ops.cast(positions, "float32")[:, :, None]
    angles = positions * ops.convert_to_tensor(frequencies, dtype="float32")
    if not interleaved:
        cosines = ops.cos(angles[:, :, : units // 2])
        return ops.concatenate([ops.sin(angles), cosines], axis=-1)
    encoding = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)
    shape = (*ops.shape(angles)[:2], 2 * len(frequencies))
    return ops.reshape(encoding, shape)[:, :, :units]


def positions_in_segments(segments):
    """Count the positions of each segment of a row from 0.

        position(t) = t - s    where s … t are all of one segment

    Args:
        segments: (batch, length) integers; those of a segment stand together.

    Returns:
        (batch, length) int32.
    """
    segments = ops.convert_to_tensor(segments)
    rows, length = ops.shape(segments)
    before = ops.concatenate([segments[:, :1], segments[:, :-1]], axis=1)
    runs = ops.cumsum(ops.cast(segments != before, "int32"), axis=1)
    # Numbered through all rows, so that one minimum finds every first place.
    runs += length * ops.arange(rows, dtype="int32")[:, None]
    places = ops.zeros_like(runs) + ops.arange(length, dtype="int32")[None]
    first = tf.math.unsorted_segment_min(places, runs, rows * length)
    return places - ops.take(first, runs, axis=0)


def resize_grid(
    table, old_grid: tuple, new_grid: tuple, num_prefix_tokens: int = 0
):
    """Stretch a table of positions on a grid to another grid.

        new(y, x) = Σ w(y, h) w(x, i) old(h, i)        over the old cells h, i

    where w is cubic convolution between the centres of cells, with -3/4 for
    its parameter and the border repeated outside: what PyTorch and Hugging
    Face take. As products with constant matrices it compiles anywhere.

    Args:
        table: (first + height · width, units).
        old_grid, new_grid: (height, width).
        num_prefix_tokens: Rows before the grid, which stay as they are.

    Returns:
        (first + new height · new width, units).

    Reference:
        Dosovitskiy et al. 2021, section 3.2. https://arxiv.org/abs/2010.11929
        Keys 1981. https://doi.org/10.1109/TASSP.1981.1163711
    """
    table = ops.convert_to_tensor(table)
    if table.shape[0] != num_prefix_tokens + math.prod(old_grid):
        raise ValueError(
            "`table` must have a row for each position of the grid. Received: "
            f"{table.shape[0]} rows, num_prefix_tokens={num_prefix_tokens}, "
            f"old_grid={tuple(old_grid)}"
        )
    units = table.shape[1]
    grid = ops.reshape(table[num_prefix_tokens:], (*old_grid, units))
    rows, columns = (
        ops.convert_to_tensor(_bicubic_matrix(old, new), dtype=table.dtype)
        for old, new in zip(old_grid, new_grid, strict=True)
    )
    grid = ops.einsum("yh,xw,hwu->yxu", rows, columns, grid)
    grid = ops.reshape(grid, (math.prod(new_grid), units))
    return ops.concatenate([table[:num_prefix_tokens], grid], axis=0)


def _bicubic_matrix(old: int, new: int):
    """How much of each old cell goes into each new one: (new, old)."""
    # The centres of the new cells, measured in old ones from the first's.
    centres = (np.arange(new) + 0.5) * old / new - 0.5
    matrix = np.zeros((new, old))
    for offset in (-1, 0, 1, 2):
        cells = np.floor(centres).astype(int) + offset
        nearest = np.clip(cells, 0, old - 1)
        weights = _cubic(np.abs(centres - cells))
        np.add.at(matrix, (np.arange(new), nearest), weights)
    return matrix


def _cubic(distance):
    """Weights of cells at distances up to 2."""
    a = -0.75
    near = (a + 2) * distance**3 - (a + 3) * distance**2 + 1
    far = a * (distance**3 - 5 * distance**2 + 8 * distance - 4)
    return np.where(distance <= 1, near, far)
