import numpy as np
import pytest

from keras_attn.export.tasks.text_embedding import TextEmbedding
from tests.export import served
from tests.export import texts


@pytest.fixture(scope="module")
def model():
    return texts.bert()


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    task = TextEmbedding(model, tokenizer=texts.tokenizer())
    folder = tmp_path_factory.mktemp("embedding")
    return served.save(task, folder, "embed", "embed_pairs")


@pytest.fixture(scope="module")
def answers(folder):
    requests = texts.text_requests("embed")
    answers = served.ask(folder, requests + texts.pair_requests("embed_pairs"))
    return answers[:5], answers[5:]


def test_the_server_embeds_like_python(model, answers):
    empty, *others, _ = answers[0]
    assert empty["embedding"].shape == empty["pooled"].shape == (0, 8)
    for rows, answer in zip(texts.BATCHES[1:], others, strict=True):
        for number, text in enumerate(rows):
            # One by one, so that there is no padding to leave out.
            vectors = texts.call_as_trained(model, [text])
            np.testing.assert_allclose(
                answer["pooled"][number], vectors["pooled"][0], atol=1e-5
            )
            mean = np.mean(vectors["sequence"], axis=(0, 1))
            np.testing.assert_allclose(
                answer["embedding"][number], mean, atol=1e-5
            )


def test_the_server_embeds_pairs_like_python(model, answers):
    _, *others = answers[1]
    for pair, answer in zip(texts.PAIRS[1:], others, strict=True):
        expected = texts.call_as_trained(model, *pair)["pooled"]
        np.testing.assert_allclose(answer["pooled"], expected, atol=1e-5)


def test_bad_rows_are_flagged(answers):
    *_, bad = answers[0]
    assert bad["valid"].tolist() == texts.BAD_VALID
    assert bad["truncated"].tolist() == texts.BAD_TRUNCATED
    assert bad["embedding"].any(axis=1).tolist() == texts.BAD_VALID
    assert bad["pooled"].any(axis=1).tolist() == texts.BAD_VALID


def test_only_core_ops_are_used(folder):
    assert not served.other_ops(folder)
