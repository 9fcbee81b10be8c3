import itertools

import numpy as np
import pytest

from keras_attn.data.builtin.digit_images import digits
from keras_attn.data.builtin.scenes import digit_scenes

NUMBERS = {
    "zero": 0,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
}


def scenes(split="train", num_scenes=400, **options):
    dataset = digit_scenes(split, num_scenes=num_scenes, **options)
    for scene in dataset.as_numpy_iterator():
        words = scene["caption"].decode().split()
        yield scene["image"], words, scene["places"]


def holds(relation, box, other):
    """Whether a box stands so to another, by their pixels."""
    top, left, bottom, right = box
    other_top, other_left, other_bottom, other_right = other
    if relation in ("above", "below"):
        if (left, right) != (other_left, other_right):
            return False
        return (
            bottom <= other_top if relation == "above" else top >= other_bottom
        )
    if (top, bottom) != (other_top, other_bottom):
        return False
    return right <= other_left if relation == "left" else left >= other_right


def parse(words):
    """The numbers of a caption and the relations between them."""
    numbers = [NUMBERS[word] for word in words if word in NUMBERS]
    relations = [
        word for word in words if word in ("above", "below", "left", "right")
    ]
    return numbers, relations


def digits_seen(image):
    """Every cell with ink: its box and its pixels."""
    for top, left in itertools.product(range(0, 32, 8), repeat=2):
        pixels = image[top : top + 8, left : left + 8]
        if pixels.any():
            yield (top, left, top + 8, left + 8), pixels.tobytes()


def labels_of(split):
    return {
        digit["image"].tobytes(): digit["label"]
        for digit in digits(split).as_numpy_iterator()
    }


@pytest.mark.parametrize("scale", [1, 3])
def test_shapes_are_known_before_the_first_scene(scale):
    dataset = digit_scenes(num_scenes=5, scale=scale)
    spec = dataset.element_spec
    assert spec["image"].shape == (32 * scale, 32 * scale, 1)
    assert spec["image"].dtype == "uint8"
    assert spec["caption"].shape == ()
    assert spec["caption"].dtype == "string"
    assert spec["places"].shape == (10, 4)
    assert spec["places"].dtype == "int32"
    assert len(dataset) == 5


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_caption_is_true_of_its_picture_in_one_way_only(split):
    labels = labels_of(split)
    for image, words, _ in scenes(split):
        numbers, relations = parse(words)
        # The pixels say where the digits are and which they are: they are
        # images of the same split, and nothing else is in the picture.
        seen = [(box, labels[pixels]) for box, pixels in digits_seen(image)]
        true = [
            order
            for order in itertools.permutations(seen)
            if [label for _, label in order] == numbers
            and all(
                holds(relation, box, other)
                for relation, ((box, _), (other, _)) in zip(
                    relations, itertools.pairwise(order), strict=True
                )
            )
        ]
        assert len(true) == 1, words


def test_the_words_look_where_they_should():
    labels = labels_of("test")
    for image, words, places in scenes("test"):
        numbers = [at for at, word in enumerate(words) if word in NUMBERS]
        for at in numbers:
            top, left, bottom, right = places[at]
            pixels = image[top:bottom, left:right].tobytes()
            assert labels[pixels] == NUMBERS[words[at]]
            assert (places[at - 1] == places[at]).all(), "its article"
        for at, following in itertools.pairwise(numbers):
            first, last = places[at], places[following]
            around = [
                *np.minimum(first, last)[:2],
                *np.maximum(first, last)[2:],
            ]
            assert (places[at + 1 : following - 1] == around).all()
        assert len({tuple(places[at]) for at in numbers}) == len(numbers)
        assert (places[len(words) :] == -1).all()


def test_cells_hold_the_digits_of_the_caption():
    dataset = digit_scenes("test", num_scenes=50, scale=2)
    for scene in dataset.as_numpy_iterator():
        cells = scene["cells"].reshape(4, 4)
        words = scene["caption"].decode().split()
        for word, (top, left, _, _) in zip(
            words, scene["places"][: len(words)], strict=True
        ):
            if word in NUMBERS:
                assert cells[top // 16, left // 16] == NUMBERS[word]
        assert np.sum(cells != 10) == sum(word in NUMBERS for word in words)


def test_nothing_lies_outside_the_boxes():
    for image, words, places in scenes(num_scenes=50):
        left_over = image.copy()
        for word, (top, left, bottom, right) in zip(
            words, places[: len(words)], strict=True
        ):
            if word in NUMBERS:
                left_over[top:bottom, left:right] = 0
        assert not left_over.any()


def test_captions_are_english_and_use_every_word():
    captions = [words for _, words, _ in scenes(num_scenes=900)]
    used = set().union(*captions)
    assert used == {
        *NUMBERS,
        "a",
        "an",
        "above",
        "below",
        "left",
        "right",
        "of",
    }
    for words in captions:
        for word, following in itertools.pairwise(words):
            if word in ("a", "an"):
                assert (word == "an") == (following == "eight")
            assert (word in ("left", "right")) == (following == "of")
    assert {len(parse(words)[0]) for words in captions} == {1, 2, 3}
    assert max(map(len, captions)) == 10
    turns = {tuple(parse(words)[1]) for words in captions}
    assert ("left", "above") in turns
    assert ("below", "right") in turns
    assert ("above", "above") in turns
    assert ("above", "below") not in turns


def test_a_picture_has_one_caption():
    for _, words, places in scenes():
        ends = [
            (NUMBERS[word], *box[:2])
            for word, box in zip(words, places[: len(words)], strict=True)
            if word in NUMBERS
        ]
        assert ends[0] <= ends[-1]


def test_scaling_enlarges_pixels_and_places_alike():
    small = scenes(num_scenes=9, seed=2)
    large = scenes(num_scenes=9, seed=2, scale=3)
    for (image, words, places), (image_3, words_3, places_3) in zip(
        small, large, strict=True
    ):
        assert words == words_3
        assert (np.kron(image, np.ones((3, 3, 1), "uint8")) == image_3).all()
        assert (places_3[: len(words)] == 3 * places[: len(words)]).all()
        assert (places_3[len(words) :] == -1).all()


def test_another_seed_draws_other_scenes():
    def captions(seed):
        return [words for _, words, _ in scenes(num_scenes=6, seed=seed)]

    assert captions(1) == captions(1)
    assert captions(1) != captions(2)


@pytest.mark.parametrize("name", ["num_scenes", "scale"])
def test_a_size_below_one_is_refused(name):
    with pytest.raises(ValueError, match=f"`{name}` must be.*at least 1.*0"):
        digit_scenes(**{name: 0})
