import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export.tasks.token_classification import TokenClassification
from tests.export import served
from tests.export import texts

LABELS = ["noun", "verb", "other"]


@pytest.fixture(scope="module")
def model():
    return texts.bert("token_classification", num_classes=3)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    task = TokenClassification(
        model, tokenizer=texts.tokenizer(), labels=LABELS
    )
    folder = tmp_path_factory.mktemp("tagger")
    return served.save(task, folder, "tag")


@pytest.fixture(scope="module")
def answers(folder):
    return served.ask(folder, texts.text_requests("tag"))


def test_the_server_tags_like_python(model, answers):
    assert answers[0]["scores"].shape == (0, 0, 3)
    tokenizer = texts.tokenizer()
    for rows, answer in zip(texts.BATCHES[1:], answers[1:-1], strict=True):
        assert answer["valid"].all() and not answer["truncated"].any()
        for number, text in enumerate(rows):
            ids = tokenizer(text).numpy()
            words = [tokenizer.vocabulary[id].encode() for id in ids]
            blank = answer["tokens"].shape[1] - len(ids)
            assert answer["length"][number] == len(ids)
            assert answer["tokens"][number].tolist() == words + [b""] * blank
            logits = texts.call_as_trained(model, [text])[0, 1:-1]
            scores = np.pad(tf.nn.softmax(logits), [(0, blank), (0, 0)])
            np.testing.assert_allclose(
                answer["scores"][number], scores, atol=1e-5
            )
            names = [LABELS[i].encode() for i in np.argmax(logits, axis=1)]
            assert answer["labels"][number].tolist() == names + [b""] * blank


def test_bad_rows_are_flagged_and_have_no_tokens(answers):
    bad = answers[-1]
    assert bad["valid"].tolist() == texts.BAD_VALID
    assert bad["truncated"].tolist() == texts.BAD_TRUNCATED
    assert bad["length"].tolist() == [2, 0, 7, 0, 0]
    assert not bad["scores"][1].any()


def test_only_core_ops_are_used(folder):
    assert not served.other_ops(folder)


def test_without_names_labels_are_numbers(model):
    task = TokenClassification(model, tokenizer=texts.tokenizer())
    tag, _ = task.signatures()
    answer = tag.function(text=tf.constant(["the cat", "a", b"\xff"]))
    first, second, third = answer["labels"].numpy().tolist()
    assert min(first) >= 0
    assert second[0] >= 0 and second[1] == -1
    assert third == [-1, -1]


def test_names_must_be_as_many_as_classes(model):
    with pytest.raises(ValueError, match="3 classes"):
        TokenClassification(
            model, tokenizer=texts.tokenizer(), labels=LABELS[:2]
        )
