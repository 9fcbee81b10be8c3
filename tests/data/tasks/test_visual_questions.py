import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.builtin.scene_questions import scene_answers
from keras_attn.data.builtin.scene_questions import scene_questions
from keras_attn.data.pipeline.batching import batches
from keras_attn.data.tasks.visual_questions import visual_questions
from keras_attn.text.byte import ByteTokenizer

TOKENIZER = ByteTokenizer()
ANSWERS = ["no", "yes"]


def asked(answer="yes", **fields):
    return tf.data.Dataset.from_tensors(
        {
            "image": np.zeros((4, 4, 1), "uint8"),
            "question": "is it?",
            "answer": answer,
            **fields,
        }
    )


def test_a_label_is_the_place_of_the_answer():
    ((inputs, label),) = visual_questions(asked(), TOKENIZER, ANSWERS, size=4)
    assert label == 1
    assert label.dtype == tf.int32
    ids = TOKENIZER("is it?").numpy().tolist()
    row = [TOKENIZER.start_id, *ids, TOKENIZER.end_id]
    assert inputs["tokens"].numpy().tolist() == row
    assert inputs["image"].shape == (4, 4, 3)


def test_regions_in_place_of_an_image():
    examples = asked(
        features=np.ones((2, 3), "float32"),
        boxes=np.array([[0, 0, 1, 1], [0, 0.5, 0.5, 1]], "float32"),
    ).map(lambda x: {k: v for k, v in x.items() if k != "image"})
    ((inputs, _),) = visual_questions(examples, TOKENIZER, ANSWERS)
    assert inputs.keys() == {"tokens", "segments", "features", "boxes"}


def test_scenes_make_batches():
    examples = visual_questions(
        scene_questions(num_questions=8),
        TOKENIZER,
        scene_answers(),
        size=32,
        channels=1,
    )
    ((inputs, labels),) = batches(examples, 8, lengths=40)
    assert inputs["tokens"].shape == inputs["segments"].shape == (8, 40)
    assert inputs["image"].shape == (8, 32, 32, 1)
    assert labels.shape == (8,)


def test_an_answer_that_nobody_can_give_is_an_error():
    examples = visual_questions(asked("maybe"), TOKENIZER, ANSWERS, size=4)
    with pytest.raises(tf.errors.InvalidArgumentError, match="`answers` must"):
        list(examples)


def test_an_empty_question_is_an_error():
    examples = visual_questions(asked(question=""), TOKENIZER, ANSWERS, size=4)
    with pytest.raises(tf.errors.InvalidArgumentError, match="one token"):
        list(examples)


@pytest.mark.parametrize(
    "box", [[0, 0, 1.5, 1], [0, 0, 0, 0]], ids=["outside", "no_region"]
)
def test_a_question_on_nothing_in_the_image_is_an_error(box):
    examples = asked(
        features=np.ones((1, 3), "float32"), boxes=np.array([box], "float32")
    ).map(lambda x: {k: v for k, v in x.items() if k != "image"})
    with pytest.raises(tf.errors.InvalidArgumentError, match="one region"):
        list(visual_questions(examples, TOKENIZER, ANSWERS))


@pytest.mark.parametrize("answers", [[], ["no", "no"]])
def test_answers_must_differ(answers):
    with pytest.raises(ValueError, match="`answers` must be different"):
        visual_questions(asked(), TOKENIZER, answers, size=4)


def test_missing_fields_are_told():
    examples = asked().map(lambda x: {"image": x["image"]})
    with pytest.raises(ValueError, match=r"lack \['answer', 'question'\]"):
        visual_questions(examples, TOKENIZER, ANSWERS, size=4)
