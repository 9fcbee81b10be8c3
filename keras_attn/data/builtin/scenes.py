"""Pictures of a few digits, and captions that say how they stand."""

import itertools

import numpy as np
import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.data.builtin.digit_images import digit_arrays
from keras_attn.data.builtin.splits import SPLITS
from keras_attn.data.builtin.splits import check_split

NUMBERS = "zero one two three four five six seven eight nine".split()
MAX_DIGITS = 3
MAX_WORDS = 10  # "a two left of a nine left of a four"

GRID = 4  # cells on each side of a picture
CELL = 8  # pixels on each side of a cell, as of a digit
EMPTY = 10  # the class of a cell without a digit


def digit_scenes(
    split: str = "train",
    *,
    num_scenes: int = 10_000,
    scale: int = 1,
    seed: int = 0,
) -> tf.data.Dataset:
    """Draw one to three real digits on a grid, with a caption of the scene.

    "a two left of a nine above a four": each relation joins the digits on both
    of its sides, which share a row (left of, right of) or a column (above,
    below). A caption names every digit and is true of its picture in one way
    only. It starts with the smaller of the first and last digit, or the upper
    or left one of equals, so that a picture has one caption. The digits are
    images of the same split of `digits`.

    Args:
        split: "train", "validation" or "test".
        num_scenes: How many pictures.
        scale: How many pixels wide and high each pixel becomes.
        seed: Draws other scenes, from the same digits.

    Returns:
        `{"image", "caption", "places", "cells"}`: uint8 (height, width,
        channels) = (32, 32, 1) times `scale`; a scalar string; int32 (words,
        4), where each word looks: top, left, bottom, right in pixels, the last
        two exclusive. A number and its article look at the digit, a relation
        at the smallest box around the two that it joins. Rows after the last
        word are -1. The 16 cells of the grid, row by row, are the digits in
        them, or 10 for none: int32 (cells,).

    Raises:
        ImportError: If scikit-learn is not installed.
    """
    check_split(split)
    for name, value in (("num_scenes", num_scenes), ("scale", scale)):
        argument_checks.integer(value, name, at_least=1)
    rng = np.random.default_rng([seed, SPLITS.index(split)])
    scenes = _draw(*digit_arrays(split), num_scenes, rng)
    places = scenes["places"]
    scenes["places"] = np.where(places < 0, -1, places * scale)
    scenes = tf.data.Dataset.from_tensor_slices(scenes)
    return enlarged(scenes, scale)


def enlarged(scenes: tf.data.Dataset, scale: int) -> tf.data.Dataset:
    """Make each pixel of the images `scale` pixels wide and high."""
    side = GRID * CELL * scale

    def enlarge(scene):
        image = tf.repeat(tf.repeat(scene["image"], scale, 0), scale, 1)
        return scene | {"image": tf.ensure_shape(image, (side, side, 1))}

    # Only as they are read: large pictures would fill the memory.
    return scenes if scale == 1 else scenes.map(enlarge, tf.data.AUTOTUNE)


def _draw(digits, labels, num_scenes, rng):
    """All that is told of scenes, one pixel for each pixel."""
    ways_to_stand = [layouts(count) for count in range(1, MAX_DIGITS + 1)]
    counts = rng.integers(MAX_DIGITS, size=num_scenes)
    ways = rng.integers([len(ways_to_stand[count]) for count in counts])
    digit_ids = rng.integers(len(digits), size=(num_scenes, MAX_DIGITS))
    images = np.zeros((num_scenes, GRID * CELL, GRID * CELL, 1), "uint8")
    places = np.full((num_scenes, MAX_WORDS, 4), -1, "int32")
    classes = np.full((num_scenes, GRID, GRID), EMPTY, "int32")
    captions = []
    for scene, (count, way) in enumerate(zip(counts, ways, strict=True)):
        cells = ways_to_stand[count][way]
        chosen = digit_ids[scene, : len(cells)]
        paint(images[scene], digits[chosen], cells)
        numbers = labels[chosen].tolist()
        classes[scene][tuple(np.transpose(cells))] = numbers
        words, boxes = zip(*_describe(numbers, cells), strict=True)
        captions.append(" ".join(words))
        places[scene, : len(words)] = boxes
    return {
        "image": images,
        "caption": captions,
        "places": places,
        "cells": classes.reshape(num_scenes, -1),
    }


def paint(image, digits, cells):
    """Put digits into cells of an image, which changes."""
    for digit, cell in zip(digits, cells, strict=True):
        top, left, bottom, right = box(cell)
        image[top:bottom, left:right] = digit


def layouts(count):
    """Every way to stand on the grid that a caption can tell."""
    cells = itertools.product(range(GRID), repeat=2)
    return list(filter(_is_chain, itertools.permutations(cells, count)))


def _is_chain(cells):
    """Whether each cell is in line with the next, and the way is clear."""
    relations = [relation(*pair) for pair in itertools.pairwise(cells)]
    # Three in one line are told from end to end: "a two left of a nine right
    # of a four" would not say how the two stands to the four.
    in_line = relation(cells[0], cells[-1]) is not None
    return None not in relations and (not in_line or len(set(relations)) < 2)


def relation(cell, other):
    """How `cell` stands to `other`, or None if they share no line."""
    (row, column), (other_row, other_column) = cell, other
    if column == other_column:
        return "above" if row < other_row else "below"
    if row == other_row:
        return "left of" if column < other_column else "right of"
    return None


def _describe(numbers, cells):
    """The words for a chain of digits, each with its box."""
    digits = list(zip(numbers, cells, strict=True))
    if digits[0] > digits[-1]:
        digits = digits[::-1]
    words = []
    for place, (number, cell) in enumerate(digits):
        if place:
            before = digits[place - 1][1]
            how, around = relation(before, cell), box(before, cell)
            words += [(word, around) for word in how.split()]
        article = "an" if number == 8 else "a"
        words += [(article, box(cell)), (NUMBERS[number], box(cell))]
    return words


def box(*cells):
    """The smallest box around cells: top, left, bottom, right in pixels."""
    rows, columns = zip(*cells, strict=True)
    first = (min(rows), min(columns))
    last = (max(rows) + 1, max(columns) + 1)
    return [CELL * edge for edge in first + last]
