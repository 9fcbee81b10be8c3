import numpy as np
import pytest

from keras_attn.export.text_regression import TextRegression
from tests.export import served
from tests.export import texts


@pytest.fixture(scope="module")
def model():
    return texts.bert("regression")


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    task = TextRegression(model, tokenizer=texts.tokenizer())
    return served.save(task, tmp_path_factory.mktemp("regressor"))


@pytest.fixture(scope="module")
def answers(folder):
    requests = texts.text_requests("regress")
    answers = served.ask(
        folder, requests + texts.pair_requests("regress_pairs")
    )
    return answers[:5], answers[5:]


def test_the_server_answers_like_python(model, answers):
    empty, *others, _ = answers[0]
    assert empty["value"].shape == (0,)
    for rows, answer in zip(texts.BATCHES[1:], others, strict=True):
        assert answer.keys() == {"value", "valid", "truncated"}
        expected = texts.call_as_trained(model, rows)[:, 0]
        np.testing.assert_allclose(answer["value"], expected, atol=1e-5)


def test_the_server_answers_pairs_like_python(model, answers):
    _, *others = answers[1]
    for pair, answer in zip(texts.PAIRS[1:], others, strict=True):
        expected = texts.call_as_trained(model, *pair)[:, 0]
        np.testing.assert_allclose(answer["value"], expected, atol=1e-5)


def test_bad_rows_are_flagged(answers):
    *_, bad = answers[0]
    assert bad["valid"].tolist() == texts.BAD_VALID
    assert bad["truncated"].tolist() == texts.BAD_TRUNCATED
    assert (bad["value"] != 0).tolist() == texts.BAD_VALID


def test_only_core_ops_are_used(folder):
    assert not served.other_ops(folder)
