import collections

import numpy as np
import pytest

from keras_attn.data.builtin.scene_questions import scene_answers
from keras_attn.data.builtin.scene_questions import scene_questions
from tests.data.builtin.test_scenes import NUMBERS
from tests.data.builtin.test_scenes import digits_seen
from tests.data.builtin.test_scenes import holds
from tests.data.builtin.test_scenes import labels_of

WORDS = list(NUMBERS)
RELATIONS = ["left of", "right of", "above", "below"]


def rows(split="train", num_questions=400, **options):
    dataset = scene_questions(split, num_questions=num_questions, **options)
    for row in dataset.as_numpy_iterator():
        yield row | {k: row[k].decode() for k in ("question", "answer")}


def kind_of(question):
    return " ".join(question.split()[:2])


def true_answers(question, seen):
    """All answers that the pixels allow, from (box, label)s."""
    words = question.split()
    asked = [NUMBERS[word] for word in words if word in NUMBERS]
    if kind_of(question) == "how many":
        return [WORDS[len(seen)]]
    if kind_of(question) == "how often":
        return [WORDS[sum(label == asked[0] for _, label in seen)]]
    if kind_of(question) == "what is":
        relation = " ".join(words[2 : words.index("the")])
        return [
            WORDS[label]
            for box, label in seen
            for other, other_label in seen
            if other_label == asked[0]
            and box != other
            and holds(relation.split()[0], box, other)
        ]
    return [
        relation
        for box, label in seen
        for other, other_label in seen
        for relation in RELATIONS
        if (label, other_label) == tuple(asked)
        and box != other
        and holds(relation.split()[0], box, other)
    ]


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_question_has_one_answer_and_it_is_given(split):
    labels = labels_of(split)
    for row in rows(split):
        seen = [
            (box, labels[pixels]) for box, pixels in digits_seen(row["image"])
        ]
        assert true_answers(row["question"], seen) == [row["answer"]]
        assert row["answer"] in scene_answers()
        places = [tuple(box) for box in row["places"] if box[0] >= 0]
        assert sorted(places) == sorted(box for box, _ in seen)
        cells = row["cells"].reshape(4, 4)
        for (top, left, _, _), label in seen:
            assert cells[top // 8, left // 8] == label
        assert np.sum(cells != 10) == len(seen)


def test_kinds_and_answers_are_equally_frequent():
    answers = collections.defaultdict(collections.Counter)
    for row in rows(num_questions=480):
        answers[kind_of(row["question"])][row["answer"]] += 1
    assert {kind: set(found.values()) for kind, found in answers.items()} == {
        "what is": {12},
        "where is": {30},
        "how often": {30},
        "how many": {40},
    }
    assert set(answers["what is"]) == set(WORDS)
    assert set(answers["where is"]) == set(RELATIONS)
    assert set(answers["how often"]) == set(WORDS[:4])
    assert set(answers["how many"]) == set(WORDS[1:4])


def test_the_words_of_a_question_tell_little():
    """Who learns the likeliest answer to each text is right in a fourth."""

    def table(seed):
        found = collections.defaultdict(collections.Counter)
        for row in rows(num_questions=2_000, seed=seed):
            found[row["question"]][row["answer"]] += 1
        return found

    learnt, asked = table(0), table(1)
    right = sum(
        answers[learnt[question].most_common(1)[0][0]]
        for question, answers in asked.items()
        if question in learnt
    )
    # 1/9, 1/4, 1/4 and 1/3 of the four kinds are 24 %.
    assert right / 2_000 < 0.28


def test_shapes_are_known_before_the_first_question():
    dataset = scene_questions(num_questions=5, scale=2)
    spec = dataset.element_spec
    assert spec["image"].shape == (64, 64, 1)
    assert spec["question"].shape == spec["answer"].shape == ()
    assert spec["places"].shape == (3, 4)
    assert spec["cells"].shape == (16,)
    assert len(dataset) == 5


def test_scaling_enlarges_pixels_and_places_alike():
    for small, large in zip(
        rows(num_questions=9), rows(num_questions=9, scale=3), strict=True
    ):
        assert small["question"] == large["question"]
        larger = np.kron(small["image"], np.ones((3, 3, 1), "uint8"))
        assert (larger == large["image"]).all()
        real = small["places"][:, 0] >= 0
        assert (large["places"][real] == 3 * small["places"][real]).all()
        assert (large["places"][~real] == -1).all()


def test_another_seed_draws_other_questions():
    def asked(seed):
        return [row["question"] for row in rows(num_questions=9, seed=seed)]

    assert asked(1) == asked(1)
    assert asked(1) != asked(2)


def test_answers_have_one_number_each():
    assert len(set(scene_answers())) == 14


@pytest.mark.parametrize("name", ["num_questions", "scale"])
def test_a_size_below_one_is_refused(name):
    with pytest.raises(ValueError, match=f"`{name}` must be.*at least 1.*0"):
        scene_questions(**{name: 0})
