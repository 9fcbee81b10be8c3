import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export.tasks.text_classification import TextClassification
from tests.export import served
from tests.export import texts

LABELS = ["no", "maybe", "yes"]


@pytest.fixture(scope="module")
def model():
    return texts.bert("classification", num_classes=3)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    task = TextClassification(model, tokenizer=texts.tokenizer(), labels=LABELS)
    folder = tmp_path_factory.mktemp("classifier")
    return served.save(task, folder, "classify", "classify_pairs")


@pytest.fixture(scope="module")
def answers(folder):
    requests = texts.text_requests("classify")
    requests += texts.pair_requests("classify_pairs")
    answers = served.ask(folder, requests)
    return answers[:5], answers[5:]


def check(answer, logits):
    assert answer.keys() == {"label", "scores", "valid", "truncated"}
    scores = tf.nn.softmax(logits)
    np.testing.assert_allclose(answer["scores"], scores, atol=1e-5)
    names = [LABELS[number].encode() for number in np.argmax(scores, axis=1)]
    assert answer["label"].tolist() == names
    assert answer["valid"].all() and not answer["truncated"].any()


def test_the_server_classifies_like_python(model, answers):
    empty, *others, _ = answers[0]
    assert empty["scores"].shape == (0, 3)
    for rows, answer in zip(texts.BATCHES[1:], others, strict=True):
        check(answer, texts.call_as_trained(model, rows))


def test_the_server_classifies_pairs_like_python(model, answers):
    empty, *others = answers[1]
    assert empty["scores"].shape == (0, 3)
    for pair, answer in zip(texts.PAIRS[1:], others, strict=True):
        check(answer, texts.call_as_trained(model, *pair))


def test_bad_rows_are_flagged_and_leave_the_others_alone(model, answers):
    *_, bad = answers[0]
    assert bad["valid"].tolist() == texts.BAD_VALID
    assert bad["truncated"].tolist() == texts.BAD_TRUNCATED
    assert bad["label"][1] == b"" and not bad["scores"][1].any()
    logits = texts.call_as_trained(model, ["the cat", "the " * 7])
    np.testing.assert_allclose(
        bad["scores"][[0, 2]], tf.nn.softmax(logits), atol=1e-5
    )


def test_only_core_ops_are_used(folder):
    assert not served.other_ops(folder)


def test_without_names_the_answer_is_a_number(model):
    task = TextClassification(model, tokenizer=texts.tokenizer())
    classify, *_ = task.signatures()
    answer = classify.function(text=tf.constant(["the cat", b"\xff"]))
    expected = np.argmax(texts.call_as_trained(model, ["the cat"]))
    assert answer["label"].numpy().tolist() == [expected, -1]
    assert answer["label"].dtype == tf.int64


def test_whether_a_text_follows_is_asked_of_pairs():
    task = TextClassification(
        texts.bert("next_sentence"), tokenizer=texts.tokenizer()
    )
    names = [signature.name for signature in task.signatures()]
    assert names == ["classify_pairs", "embed"]


def test_half_precision_answers_in_single():
    model = texts.bert("classification", num_classes=3, dtype="mixed_bfloat16")
    task = TextClassification(model, tokenizer=texts.tokenizer())
    for signature in task.signatures():
        inputs = {name: tf.constant(["cat"]) for name in signature.inputs}
        dtypes = {t.dtype for t in signature.function(**inputs).values()}
        assert dtypes <= {tf.float32, tf.int64, tf.bool}


def test_names_must_be_as_many_as_classes(model):
    with pytest.raises(ValueError, match="3 classes"):
        TextClassification(
            model, tokenizer=texts.tokenizer(), labels=LABELS[:2]
        )


def test_of_several_classes_each_is_scored_by_itself(model):
    task = TextClassification(
        model, tokenizer=texts.tokenizer(), labels=LABELS, multi_label=True
    )
    classify, *_ = task.signatures()
    answer = classify.function(text=tf.constant(["the cat"]))
    logits = texts.call_as_trained(model, ["the cat"]).numpy()
    np.testing.assert_allclose(
        answer["scores"], 1 / (1 + np.exp(-logits)), atol=1e-5
    )
    assert answer["label"].numpy()[0].decode() == LABELS[np.argmax(logits)]
