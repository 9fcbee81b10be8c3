import re

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export.tasks.question_answering import QuestionAnswering
from tests.export import served
from tests.export import texts

QUESTIONS = ["the cat", "a", "on the mat"]
CONTEXTS = [" The  cats\tsat, on a mat!", "ÉÉ, é!", "cats !!! a mat"]
BAD = [b"the cat", b"\xff", b"", b"the cat"]
BAD_CONTEXTS = [b"a mat", b"a mat", b"a mat", b"\xe2\x82"]
UNCASED = {"lowercase": True}
OUTPUTS = {"text", "start", "end", "score", "no_answer_score"}


@pytest.fixture(scope="module")
def model():
    return texts.bert("span")


def make(model, **options):
    options = {"max_answer_length": 3, "stride": 1, **options}
    tokenizer = texts.tokenizer(**UNCASED)
    return QuestionAnswering(model, tokenizer=tokenizer, **options)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    return served.save(make(model), folder, "answer", "embed")


@pytest.fixture(scope="module")
def answers(folder):
    def request(questions, contexts):
        inputs = {"question": questions, "context": contexts}
        inputs = {name: texts.as_bytes(rows) for name, rows in inputs.items()}
        return "answer", inputs

    return served.ask(
        folder,
        [
            request(QUESTIONS, CONTEXTS),
            request(BAD, BAD_CONTEXTS),
            request([], []),
        ],
    )


def tokens_of(text):
    """Ids with the words that they are part of, by Python's own means."""
    tokenizer, found = texts.tokenizer(**UNCASED), []
    for word in re.finditer(r"\w+|[^\w\s]", text):
        ids = tokenizer(word.group()).numpy().tolist()
        found += [(number, *word.span()) for number in ids]
    return found


def by_hand(model, question, context):
    """(score, start, end) of the best span, and the score of no answer."""
    tokenizer = texts.tokenizer(**UNCASED)
    asked = [number for number, *_ in tokens_of(question)]
    told = tokens_of(context)
    room = texts.MAX_LENGTH - 3 - len(asked)
    spans, nulls, begin = [], [], 0
    while True:
        window = told[begin : begin + room]
        ids = [number for number, *_ in window]
        start_id, end_id = tokenizer.start_id, tokenizer.end_id
        row = [start_id, *asked, end_id, *ids, end_id]
        segments = [0] * (len(asked) + 2) + [1] * (len(ids) + 1)
        logits = model(
            {"tokens": np.array([row]), "segments": np.array([segments])}
        )
        kept = [0, *range(len(asked) + 2, len(row) - 1)]
        start, end = (
            tf.nn.softmax(tf.gather(logits[name][0], kept)).numpy()
            for name in ("start", "end")
        )
        nulls.append(start[0] * end[0])
        spans += [
            (start[i + 1] * end[j + 1], window[i][1], window[j][2])
            for i in range(len(window))
            for j in range(i, min(i + 3, len(window)))
        ]
        if begin + room >= len(told):
            return max(spans), min(nulls)
        begin += room - 1


def test_the_server_answers_like_python(model, answers):
    answer, *_ = answers
    assert answer.keys() == OUTPUTS | {"valid", "truncated"}
    assert answer["valid"].all() and not answer["truncated"].any()
    for row, texts_of_row in enumerate(zip(QUESTIONS, CONTEXTS, strict=True)):
        (score, start, end), null = by_hand(model, *texts_of_row)
        assert (answer["start"][row], answer["end"][row]) == (start, end)
        expected = texts_of_row[1][start:end]
        assert answer["text"][row].decode() == expected and expected
        np.testing.assert_allclose(answer["score"][row], score, rtol=1e-3)
        np.testing.assert_allclose(
            answer["no_answer_score"][row], null, rtol=1e-3
        )


def test_bad_rows_are_flagged_and_leave_the_others_alone(model, answers):
    _, bad, empty = answers
    assert bad["valid"].tolist() == [True, False, False, False]
    (score, start, end), _ = by_hand(model, "the cat", "a mat")
    assert bad["text"].tolist() == ["a mat"[start:end].encode(), b"", b"", b""]
    np.testing.assert_allclose(bad["score"], [score, 0, 0, 0], rtol=1e-3)
    assert empty["text"].shape == empty["score"].shape == (0,)


def test_only_core_ops_are_used(folder):
    assert not served.other_ops(folder)


def test_no_answer_is_given_where_it_is_more_probable(model):
    words = ["é", "a", "mat", "!", "the", "sat"]
    pairs = [(one, two) for one in words for two in words]
    question, context = (tf.constant(rows) for rows in zip(*pairs, strict=True))
    usual, answer = (
        make(model, no_answer=allowed).signatures()[0].function
        for allowed in (False, True)
    )
    usual = usual(question=question, context=context)
    answer = answer(question=question, context=context)
    null, score = usual["no_answer_score"].numpy(), usual["score"].numpy()
    none = null > score
    assert 0 < none.sum() < len(none)
    assert usual["text"].numpy().all()
    expected = np.where(none, b"", usual["text"].numpy())
    assert answer["text"].numpy().tolist() == expected.tolist()
    np.testing.assert_allclose(answer["score"], np.maximum(null, score))
    assert not answer["end"].numpy()[none].any()


def test_an_answer_may_be_part_of_a_word(model):
    request = {"question": tf.constant(["a"]), "context": tf.constant(["mats"])}
    options = {"max_answer_length": 1}
    whole = make(model, **options).signatures()[0].function(**request)
    part = make(model, whole_words=False, **options).signatures()[0]
    assert whole["text"].numpy() == [b"mats"]
    assert part.function(**request)["text"].numpy()[0] in (b"mat", b"s")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"max_answer_length": 0}, "max_answer_length"),
        ({"stride": -1}, "stride"),
        ({"max_windows": 0}, "max_windows"),
        ({"max_length": 4}, "max_length=4"),
    ],
)
def test_wrong_settings_are_refused(model, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        make(model, **options)


@pytest.mark.peers
def test_answers_are_those_of_transformers(tmp_path):
    """Their model, tokenizer, offsets and choice, against one request."""
    from keras_attn import models
    from tests.models import peers

    library = peers.transformers()
    from transformers.pipelines import document_question_answering as pipeline

    tokenizer = texts.tokenizer(lowercase=True, strip_accents=True)
    config = library.BertConfig(
        vocab_size=tokenizer.vocabulary_size,
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=10,
        max_position_embeddings=13,
    )
    peer = peers.make("BertForQuestionAnswering", config, tmp_path)
    names = ("pad", "unk", "cls", "sep")
    split = library.BertTokenizer(
        vocab={word: n for n, word in enumerate(tokenizer.vocabulary)},
        **{f"{k}_token": tokenizer.vocabulary[n] for n, k in enumerate(names)},
    )
    task = QuestionAnswering(
        models.from_huggingface(tmp_path),
        tokenizer=tokenizer,
        max_answer_length=2,
        stride=2,
        whole_words=False,
    )
    request = {
        "question": tf.constant(QUESTIONS),
        "context": tf.constant(CONTEXTS),
    }
    answer = task.signatures()[0].function(**request)
    for row, pair in enumerate(zip(QUESTIONS, CONTEXTS, strict=True)):
        windows = split(
            *pair,
            max_length=13,
            stride=2,
            truncation="only_second",
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        found = []
        for number, ids in enumerate(windows["input_ids"]):
            logits = peers.ask(
                peer,
                input_ids=[ids],
                token_type_ids=[windows["token_type_ids"][number]],
            )
            outside = [part != 1 for part in windows.sequence_ids(number)]
            outside[0] = False
            starts, ends, scores, _ = pipeline.select_starts_ends(
                logits["start_logits"],
                logits["end_logits"],
                np.array([outside]),
                None,
                max_answer_len=2,
            )
            spans = windows["offset_mapping"][number]
            found.append((scores[0], spans[starts[0]][0], spans[ends[0]][1]))
        score, start, end = max(found)
        assert (answer["start"][row], answer["end"][row]) == (start, end)
        np.testing.assert_allclose(answer["score"][row], score, rtol=1e-3)
