import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn import decoding
from keras_attn.export.tasks.text_generation import TextGeneration
from keras_attn.text import CharacterTokenizer
from keras_attn.text.template import Template
from tests import cpp_loader
from tests.export import served
from tests.export import writers
from tests.export.conftest import SETTINGS
from tests.export.writers import TARGET

TEXTS = np.array(writers.PROMPTS, object)
VALID = [True] * 5 + [False, False, True]
TRUNCATED = [False] * 4 + [True] + [False] * 3
READABLE = np.flatnonzero(VALID)


def read(texts):
    """Prompts as a user would read them: 12 positions, 5 for the answer."""
    return TARGET(tf.constant(texts))[:, -7:]


@pytest.fixture(scope="module")
def expected(writer):
    """What Python writes and scores for each prompt that is one."""
    name = writer.task.search.name
    settings = dict(SETTINGS[name])
    if name == "sample":
        settings["seed"] = np.full([len(READABLE)], settings["seed"])
    prompts = read(TEXTS[READABLE])
    tokens = decoding.generate(
        writer.model,
        prompts,
        search=name,
        max_length=5,
        end_id=TARGET.end_id,
        **settings,
    )
    if name == "beam":
        tokens = tokens[0][:, 0]
    answers = np.full([len(TEXTS)], b"", object)
    answers[READABLE] = TARGET.detokenize(tokens).numpy()
    scores = np.zeros([len(TEXTS)], "float32")
    for row, prompt, answer in zip(
        READABLE, prompts.to_list(), tokens.numpy().tolist(), strict=True
    ):
        written = answer[: [*answer, TARGET.end_id].index(TARGET.end_id) + 1]
        scores[row] = log_probability(writer.model, prompt, written)
    return {
        "text": answers,
        "score": scores,
        "valid": np.array(VALID),
        "truncated": np.array(TRUNCATED),
    }


def log_probability(model, prompt, answer):
    """By the forward pass, of one row's answer after its prompt."""
    tokens = tf.constant([[*prompt, *answer]])
    logits = tf.cast(model(tokens)[0, len(prompt) - 1 : -1], tf.float32)
    scores = tf.nn.log_softmax(logits).numpy()
    return scores[np.arange(len(answer)), answer].sum()


def assert_same(outputs, expected):
    assert outputs.keys() == expected.keys()
    for name, array in expected.items():
        if array.dtype == "float32":
            np.testing.assert_allclose(outputs[name], array, 1e-5, 1e-5)
        else:
            assert outputs[name].tolist() == array.tolist(), name


def test_the_server_answers_as_python_does(writer, expected):
    assert len(set(expected["text"])) > 3, "answers tell nothing if all alike"
    batches = [slice(0, 1), slice(1, 4), slice(0, 8), slice(0, 0)]
    answers = cpp_loader.run_each(
        writer.folder,
        "serving_default",
        [{"text": TEXTS[rows]} for rows in batches],
    )
    for rows, outputs in zip(batches, answers, strict=True):
        assert_same(outputs, {k: v[rows] for k, v in expected.items()})


def test_every_op_is_core_and_none_is_xlas(writer):
    assert not served.other_ops(writer.folder)


def test_weights_are_in_the_file_once(writer):
    path = str(writer.folder / "variables" / "variables")
    saved = [shape for _, shape in tf.train.list_variables(path) if shape]
    weights = [w.shape for w in writer.model.variables if w.shape]
    assert sorted(map(tuple, saved)) == sorted(map(tuple, weights))


def test_one_trace_serves_all_batches_and_lengths(writer, expected):
    for rows in ([0], [1, 2, 3], range(8), [5, 6], []):
        answer = writer.ask("generate", text=TEXTS[list(rows)])
        assert_same(answer, {k: v[list(rows)] for k, v in expected.items()})


def test_each_row_may_have_its_own_options(writer):
    rows = [0, 3, 3, 3, 7, 7, 0, 6]
    outputs = writer.ask(
        "generate_with_options",
        text=TEXTS[rows],
        max_length=np.array([5, 5, 2, 5, 6, 5, 0, 5], "int32"),
        temperature=np.array([0, 0, 0, 2, 0, -1, 0, 0], "float32"),
        seed=np.arange(8),
    )
    assert outputs["valid"].tolist() == [True] * 4 + [False] * 4
    assert outputs["text"][4:].tolist() == [b""] * 4
    assert outputs["score"][4:].tolist() == [0.0] * 4
    assert outputs["text"][2] == b" ".join(outputs["text"][1].split()[:2])
    options = writer.task.search.options
    shared = [name for name in options if name in ("top_k", "forbidden_ids")]
    answers = decoding.generate(
        writer.model,
        read(TEXTS[rows[:4]]),
        search="sample",
        max_length=5,
        end_id=TARGET.end_id,
        temperature=np.array([0, 0, 0, 2], "float32"),
        seed=np.arange(4),
        **{name: options[name] for name in shared},
    )
    wanted = TARGET.detokenize(answers).numpy()
    assert outputs["text"][[0, 1, 3]].tolist() == wanted[[0, 1, 3]].tolist()


def test_a_given_answer_is_scored_without_an_end(writer):
    texts = [b"s", b"t u v w x y z", b"s t u v w x y z", b"", b"s", b"s"]
    answers = [b"w", b"s t u v w", b"x y", b"s", b"", b"\xff"]
    outputs = writer.ask(
        "score", text=np.array(texts), answer=np.array(answers)
    )
    assert outputs["valid"].tolist() == [True, True, True, False, True, False]
    assert outputs["truncated"].tolist() == [False, False, True] + [False] * 3
    for row in range(3):
        wanted = log_probability(
            writer.model,
            read(texts[row : row + 1]).to_list()[0],
            TARGET(answers[row]).numpy().tolist(),
        )
        np.testing.assert_allclose(
            outputs["log_probability"][row], wanted, rtol=1e-5
        )
    assert not outputs["log_probability"][3:].any()
    long = writer.ask(
        "score", text=np.array([b"s"]), answer=np.array([b"s t u v w x"])
    )
    assert long["truncated"].tolist() == [True]


def test_a_text_is_embedded_as_the_mean_of_its_tokens(writer):
    outputs = writer.ask("embed", text=TEXTS[[2, 4, 5]])
    for row, text in ((0, TEXTS[2]), (1, TEXTS[4])):
        model, tokens = writer.model, read([text]).to_tensor()
        vectors = model.stack(model.embedding(tokens))[0]
        np.testing.assert_allclose(
            outputs["embedding"][row], np.mean(vectors, axis=0), atol=1e-5
        )
    assert not outputs["embedding"][2].any()
    assert outputs["valid"].tolist() == [True, True, False]
    assert outputs["truncated"].tolist() == [False, True, False]


def test_examples_show_every_flag(writer):
    main, *_ = writer.task.signatures()
    flags = set()
    for example in main.examples:
        answer = writer.ask("generate", **example)
        flags |= set(zip(answer["valid"], answer["truncated"], strict=True))
    assert flags == {(True, False), (True, True), (False, False)}


# From here on: without an export.


def test_lengths_share_the_positions_that_the_model_has_learned():
    task = TextGeneration(writers.gpt(), tokenizer=TARGET)
    assert (task.prompt_length, task.search.max_length) == (6, 6)
    task = TextGeneration(writers.gpt(), tokenizer=TARGET, max_length=11)
    assert (task.prompt_length, task.search.max_length) == (1, 11)
    task = TextGeneration(writers.gpt(position="sine"), tokenizer=TARGET)
    assert (task.prompt_length, task.search.max_length) == (512, 128)
    with pytest.raises(ValueError, match="`max_length` is beyond"):
        TextGeneration(writers.gpt(), tokenizer=TARGET, max_length=12)
    with pytest.raises(ValueError, match="room for 4 tokens"):
        TextGeneration(
            writers.gpt(), tokenizer=TARGET, max_length=8, prompt_length=5
        )


def test_a_prompt_that_is_truncated_keeps_the_start_of_its_template():
    tokenizer = CharacterTokenizer(TARGET.vocabulary)
    start = tokenizer.start_id
    tokenizer.template = Template(
        [[start, 0], ["A", 0]], [[start, 0], ["A", 0], ["B", 0]]
    )
    task = TextGeneration(writers.gpt(), tokenizer=tokenizer, max_length=8)
    text = TEXTS[TRUNCATED.index(True)]
    (tokens, lengths), valid, truncated = task.read(tf.constant([text]))
    ids = tokenizer(text).numpy().tolist()
    assert tokens.numpy().tolist() == [[start, *ids[-3:]]]
    assert lengths.numpy() == [4] and valid.numpy() and truncated.numpy()
    with pytest.raises(ValueError, match="`prompt_length` must leave room"):
        TextGeneration(
            writers.gpt(), tokenizer=tokenizer, max_length=8, prompt_length=1
        )


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({}, "exported with the tokenizer"),
        ({"tokenizer": {"source": TARGET}}, "exported with the tokenizer"),
        ({"tokenizer": writers.SOURCE}, "knows 14 ids in its target"),
        (
            {
                "tokenizer": CharacterTokenizer(
                    ["[UNK]", *"abcdefghijklm"],
                )
            },
            "has no end token",
        ),
        ({"tokenizer": TARGET, "search": "best"}, "must be one of"),
        ({"tokenizer": TARGET, "width": 3}, "Received: width"),
    ],
)
def test_what_does_not_fit_the_model_is_refused(settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        TextGeneration(writers.gpt(), **settings)


def test_it_accepts_models_that_go_on_from_prompts():
    assert TextGeneration.accepts(writers.gpt())
    assert not TextGeneration.accepts(writers.transformer())
    assert not TextGeneration.accepts(
        keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    )
