import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export.tasks.text_regression import TextRegression
from tests.export import served
from tests.export import texts


@pytest.fixture(scope="module")
def model():
    return texts.bert("regression")


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    task = TextRegression(model, tokenizer=texts.tokenizer())
    folder = tmp_path_factory.mktemp("regressor")
    return served.save(task, folder, "regress")


@pytest.fixture(scope="module")
def answers(folder):
    return served.ask(folder, texts.text_requests("regress"))


def test_the_server_answers_like_python(model, answers):
    empty, *others, _ = answers
    assert empty["value"].shape == (0,)
    for rows, answer in zip(texts.BATCHES[1:], others, strict=True):
        assert answer.keys() == {"value", "valid", "truncated"}
        expected = texts.call_as_trained(model, rows)[:, 0]
        np.testing.assert_allclose(answer["value"], expected, atol=1e-5)


def test_pairs_are_laid_out_as_in_training(model):
    task = TextRegression(model, tokenizer=texts.tokenizer())
    _, regress_pairs, _ = task.signatures()
    for text, text_pair in texts.PAIRS[1:]:
        answer = regress_pairs.function(
            text=tf.constant(text), text_pair=tf.constant(text_pair)
        )
        expected = texts.call_as_trained(model, text, text_pair)[:, 0]
        np.testing.assert_allclose(answer["value"], expected, atol=1e-5)


def test_bad_rows_are_flagged(answers):
    *_, bad = answers
    assert bad["valid"].tolist() == texts.BAD_VALID
    assert bad["truncated"].tolist() == texts.BAD_TRUNCATED
    assert (bad["value"] != 0).tolist() == texts.BAD_VALID


def test_only_core_ops_are_used(folder):
    assert not served.other_ops(folder)
