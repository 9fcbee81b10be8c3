"""Questions on pictures of a few digits, no answer likelier than another."""

import itertools

import numpy as np
import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.data.builtin.digit_images import digit_arrays
from keras_attn.data.builtin.scenes import CELL
from keras_attn.data.builtin.scenes import EMPTY
from keras_attn.data.builtin.scenes import GRID
from keras_attn.data.builtin.scenes import MAX_DIGITS
from keras_attn.data.builtin.scenes import NUMBERS
from keras_attn.data.builtin.scenes import box
from keras_attn.data.builtin.scenes import enlarged
from keras_attn.data.builtin.scenes import layouts
from keras_attn.data.builtin.scenes import paint
from keras_attn.data.builtin.scenes import relation
from keras_attn.data.builtin.splits import SPLITS
from keras_attn.data.builtin.splits import check_split

RELATIONS = ("left of", "right of", "above", "below")


def scene_questions(
    split: str = "train",
    *,
    num_questions: int = 10_000,
    scale: int = 1,
    seed: int = 0,
) -> tf.data.Dataset:
    """Draw digits as `digit_scenes` does, each with a question and its answer.

        what       "what is left of the two"           a number
        where      "where is the two from the nine"    "left of", "above", …
        how often  "how often does a two appear"       "zero" to "three"
        how many   "how many digits are there"         "one" to "three"

    Every question has one answer. The four kinds are equally frequent, and so
    are the answers within each, so that a model which does not look at the
    picture is right in 24 of 100 questions, on average over kinds.

    Args:
        split: "train", "validation" or "test", as for `digits`.
        num_questions: How many, each on a picture of its own.
        scale: How many pixels wide and high each pixel becomes.
        seed: Draws other scenes and questions, from the same digits.

    Returns:
        `{"image", "question", "answer", "places", "cells"}`: image and cells
        as in `digit_scenes`; two scalar strings, the answer one of
        `scene_answers()`; int32 (digits, 4), where the digits stand: top,
        left, bottom, right in pixels, -1 after the last.

    Raises:
        ImportError: If scikit-learn is not installed.
    """
    check_split(split)
    for name, value in (("num_questions", num_questions), ("scale", scale)):
        argument_checks.integer(value, name, at_least=1)
    rng = np.random.default_rng([seed, SPLITS.index(split), 1])
    questions = _draw(*digit_arrays(split), num_questions, rng)
    places = questions["places"]
    questions["places"] = np.where(places < 0, -1, places * scale)
    return enlarged(tf.data.Dataset.from_tensor_slices(questions), scale)


def scene_answers() -> list[str]:
    """List the answers to `scene_questions`: ten numbers, four relations."""
    return [*NUMBERS, *RELATIONS]


def _draw(digits, labels, number, rng):
    """All that is told of scenes, one pixel for each pixel."""
    by_label = [np.flatnonzero(labels == label) for label in range(10)]
    ways = {count: layouts(count) for count in range(1, MAX_DIGITS + 1)}
    images = np.zeros((number, GRID * CELL, GRID * CELL, 1), "uint8")
    places = np.full((number, MAX_DIGITS, 4), -1, "int32")
    classes = np.full((number, GRID, GRID), EMPTY, "int32")
    questions, answers = [], []
    for index, (kind, answer) in enumerate(_balanced(number, rng)):
        numbers, cells, question = kind(answer, ways, rng)
        chosen = [
            by_label[each][rng.integers(len(by_label[each]))]
            for each in numbers
        ]
        paint(images[index], digits[chosen], cells)
        classes[index][tuple(np.transpose(cells))] = numbers
        places[index, : len(cells)] = [box(cell) for cell in cells]
        questions.append(question)
        answers.append(NUMBERS[answer] if answer in range(10) else answer)
    return {
        "image": images,
        "question": questions,
        "answer": answers,
        "places": places,
        "cells": classes.reshape(number, -1),
    }


def _balanced(number, rng):
    """Kinds of questions with answers, all equally frequent, shuffled."""
    pairs = []
    for place, (kind, answers) in enumerate(KINDS.items()):
        count = len(range(place, number, len(KINDS)))
        order = rng.permutation(len(answers))
        cycle = itertools.islice(itertools.cycle(order), count)
        pairs += [(kind, answers[index]) for index in cycle]
    return [pairs[index] for index in rng.permutation(len(pairs))]


def _what(answer, ways, rng):
    """Which digit stands so to another, of which there is one."""
    while True:
        numbers, cells = _scene(rng, ways, least=2)
        numbers[rng.integers(len(numbers))] = answer
        asked = [
            (how, numbers[other])
            for other in range(len(numbers))
            for how in RELATIONS
            if numbers.count(numbers[other]) == 1
            and _standing(how, other, numbers, cells) == [answer]
        ]
        if asked:
            how, other = asked[rng.integers(len(asked))]
            return numbers, cells, f"what is {how} the {NUMBERS[other]}"


def _where(answer, ways, rng):
    """How a digit stands to another; there is one of each."""
    while True:
        numbers, cells = _scene(rng, ways, least=2)
        pairs = [
            (numbers[one], numbers[other])
            for one, other in itertools.permutations(range(len(numbers)), 2)
            if relation(cells[one], cells[other]) == answer
            and numbers.count(numbers[one]) == 1
            and numbers.count(numbers[other]) == 1
        ]
        if pairs:
            one, other = (NUMBERS[i] for i in pairs[rng.integers(len(pairs))])
            return numbers, cells, f"where is the {one} from the {other}"


def _how_often(answer, ways, rng):
    """How many of the digits are a given one."""
    numbers, cells = _scene(rng, ways, least=max(answer, 1))
    asked = int(rng.integers(10))
    same = rng.permutation(len(numbers)) < answer
    others = [int(rng.integers(9)) for _ in numbers]
    numbers = [
        asked if is_same else other + (other >= asked)
        for is_same, other in zip(same, others, strict=True)
    ]
    article = "an" if asked == 8 else "a"
    question = f"how often does {article} {NUMBERS[asked]} appear"
    return numbers, cells, question


def _how_many(answer, ways, rng):
    """How many digits there are, whichever."""
    numbers, cells = _scene(rng, ways, least=answer, most=answer)
    return numbers, cells, "how many digits are there"


# Functions that make a scene and a question, and the answers they are for.
KINDS = {
    _what: range(10),
    _where: RELATIONS,
    _how_often: range(MAX_DIGITS + 1),
    _how_many: range(1, MAX_DIGITS + 1),
}


def _scene(rng, ways, *, least, most=MAX_DIGITS):
    """Any numbers, and where they stand."""
    count = int(rng.integers(least, most + 1))
    cells = ways[count][rng.integers(len(ways[count]))]
    return rng.integers(10, size=count).tolist(), cells


def _standing(how, other, numbers, cells):
    """The numbers that stand so to one of them."""
    return [
        number
        for number, cell in zip(numbers, cells, strict=True)
        if cell != cells[other] and relation(cell, cells[other]) == how
    ]
