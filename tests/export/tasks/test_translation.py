import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn import decoding
from keras_attn.base.state import State
from keras_attn.export.graph.tracing import trace
from keras_attn.export.tasks.translation import Translation
from keras_attn.models import Transformer
from keras_attn.text import WordTokenizer
from tests import cpp_loader
from tests.export import served
from tests.export import writers
from tests.export.conftest import SETTINGS
from tests.export.writers import SOURCE
from tests.export.writers import TARGET
from tests.models.stepping import set_random

TEXTS = np.array(writers.TEXTS, object)
VALID = [True] * 6 + [False, False, True]
TRUNCATED = [False] * 4 + [True, True, False, False, False]
TOKENIZERS = {"source": SOURCE, "target": TARGET}
READABLE = np.flatnonzero(VALID)


def read(texts, length=5):
    """Sources as a user would read them in Python."""
    return SOURCE.to_dense(
        tf.constant(texts), length, start=False, truncate=True
    )


@pytest.fixture(scope="module")
def expected(translator):
    """What Python writes and scores for each text that is one."""
    name = translator.task.search.name
    settings = dict(SETTINGS[name])
    if name == "sample":
        settings["seed"] = np.full([len(READABLE)], settings["seed"])
    ids = read(TEXTS[READABLE])
    tokens = decoding.generate(
        translator.model,
        {"source": ids},
        search=name,
        max_length=6,
        start_id=TARGET.start_id,
        end_id=TARGET.end_id,
        **settings,
    )
    if name == "beam":
        tokens = tokens[0][:, 0]
    answers = np.full([len(TEXTS)], b"", object)
    answers[READABLE] = TARGET.detokenize(tokens).numpy()
    scores = np.zeros([len(TEXTS)], "float32")
    scores[READABLE] = log_probability(translator.model, ids, tokens)
    return {
        "text": answers,
        "score": scores,
        "valid": np.array(VALID),
        "truncated": np.array(TRUNCATED),
    }


def log_probability(model, source, tokens):
    """By the forward pass, of tokens up to the first end."""
    tokens = tf.cast(tokens, tf.int32)
    start = tf.fill([len(tokens), 1], TARGET.start_id)
    target = tf.concat([start, tokens[:, :-1]], axis=1)
    logits = model({"source": source, "target": target})
    scores = tf.nn.log_softmax(tf.cast(logits, tf.float32))
    chosen = tf.gather(scores, tokens, batch_dims=2).numpy()
    ended = np.cumsum(tokens.numpy() == TARGET.end_id, axis=1)
    real = ended - (tokens.numpy() == TARGET.end_id) == 0
    return (chosen * real).sum(axis=1)


def assert_same(outputs, expected):
    assert outputs.keys() == expected.keys()
    for name, array in expected.items():
        if array.dtype == "float32":
            np.testing.assert_allclose(outputs[name], array, 1e-5, 1e-5)
        else:
            assert outputs[name].tolist() == array.tolist(), name


def test_the_server_answers_as_python_does(translator, expected):
    assert len(set(expected["text"])) > 3, "answers tell nothing if all alike"
    batches = [slice(0, 1), slice(1, 4), slice(1, 9), slice(0, 0)]
    answers = cpp_loader.run_each(
        translator.folder,
        "serving_default",
        [{"text": TEXTS[rows]} for rows in batches],
    )
    for rows, outputs in zip(batches, answers, strict=True):
        assert_same(outputs, {k: v[rows] for k, v in expected.items()})


def test_every_op_is_core_and_none_is_xlas(translator):
    assert not served.other_ops(translator.folder)


def test_weights_are_in_the_file_once(translator):
    path = str(translator.folder / "variables" / "variables")
    saved = [shape for _, shape in tf.train.list_variables(path) if shape]
    weights = [w.shape for w in translator.model.variables if w.shape]
    assert sorted(map(tuple, saved)) == sorted(map(tuple, weights))


def test_one_trace_serves_all_batches_and_lengths(translator, expected):
    for rows in ([0], [1, 2, 3], range(8), range(9), []):
        answer = translator.ask("translate", text=TEXTS[list(rows)])
        assert_same(answer, {k: v[list(rows)] for k, v in expected.items()})


def test_each_row_may_have_its_own_options(translator, expected):
    rows = [0, 3, 3, 3, 8, 8, 0, 6]
    outputs = translator.ask(
        "translate_with_options",
        text=TEXTS[rows],
        max_length=np.array([6, 6, 2, 6, 7, 6, 0, 6], "int32"),
        temperature=np.array([0, 0, 0, 2, 0, -1, 0, 0], "float32"),
        seed=np.arange(8),
    )
    assert outputs["valid"].tolist() == [True] * 4 + [False] * 4
    assert outputs["text"][4:].tolist() == [b""] * 4
    assert outputs["score"][4:].tolist() == [0.0] * 4
    assert outputs["text"][2] == b" ".join(outputs["text"][1].split()[:2])
    assert 0 > outputs["score"][2] > outputs["score"][1]
    options = translator.task.search.options
    shared = [name for name in options if name in ("top_k", "forbidden_ids")]
    answers = decoding.generate(
        translator.model,
        {"source": read(TEXTS[rows[:4]])},
        search="sample",
        max_length=6,
        start_id=TARGET.start_id,
        end_id=TARGET.end_id,
        temperature=np.array([0, 0, 0, 2], "float32"),
        seed=np.arange(4),
        **{name: options[name] for name in shared},
    )
    wanted = TARGET.detokenize(answers).numpy()
    assert outputs["text"][[0, 1, 3]].tolist() == wanted[[0, 1, 3]].tolist()


def test_a_given_answer_is_scored_with_its_end(translator):
    texts = [b"a", b"b c", b"a b c d e f", b"", b"a", b"\xff", b"a"]
    answers = [b"w", b"", b"s t", b"s", b"s t u v w", b"s", b"\xff"]
    outputs = translator.ask(
        "score", text=np.array(texts), answer=np.array(answers)
    )
    assert outputs["valid"].tolist() == [True, True, True, False, True] + (
        [False] * 2
    )
    assert outputs["truncated"].tolist() == [False, False, True] + [False] * 4
    for row in (0, 1, 2, 4):
        tokens = TARGET.to_dense(tf.constant(answers[row]), 6, start=False)
        wanted = log_probability(
            translator.model, read(texts[row : row + 1]), tokens[None]
        )
        np.testing.assert_allclose(
            outputs["log_probability"][row], wanted[0], rtol=1e-5
        )
    assert outputs["log_probability"][3] == 0
    long = translator.ask(
        "score", text=np.array([b"a"]), answer=np.array([b"s t u v w x"])
    )
    assert long["truncated"].tolist() == [True]


def test_attention_shows_where_each_token_looked(translator, expected):
    rows = [0, 2, 4, 6]
    outputs = translator.ask("attention", text=TEXTS[rows])
    assert outputs["text"].tolist() == expected["text"][rows].tolist()
    assert outputs["weights"].shape == (4, 6, 5)
    assert outputs["source_tokens"].tolist() == [
        [b"a", b"[END]", b"", b"", b""],
        [b"b", b"c", b"d", b"[END]", b""],
        [b"d", b"c", b"b", b"a", b"[END]"],
        [b""] * 5,
    ]
    assert outputs["source_lengths"].tolist() == [2, 4, 5, 0]
    for row in range(4):
        tokens = outputs["answer_tokens"][row]
        length = outputs["answer_lengths"][row]
        written = [x for x in tokens[:length] if x != b"[END]"]
        assert b" ".join(written) == outputs["text"][row]
        assert (tokens[length:] == b"").all()
        weights = outputs["weights"][row]
        looked = weights.sum(axis=1)
        np.testing.assert_allclose(looked[:length], 1, atol=1e-5)
        assert not looked[length:].any()
        assert not weights[:, outputs["source_lengths"][row] :].any()
    # The first token's weights, from the model itself.
    model = translator.model
    state = model.encode(read(TEXTS[[2]]), 6)
    _, _, looked = model.decoder.step(
        model.target_embedding(tf.constant([TARGET.start_id])),
        State(state.carried["caches"], state.constant["caches"]),
        state.carried["position"],
        state.constant["memories"],
    )
    np.testing.assert_allclose(
        outputs["weights"][1, 0], np.mean(looked[0, :, 0], axis=0), atol=1e-5
    )


def test_a_text_is_embedded_as_the_mean_of_its_tokens(translator):
    outputs = translator.ask("embed", text=TEXTS[[2, 5, 6]])
    for row, text in ((0, TEXTS[2]), (1, TEXTS[5])):
        length = min(len(text.split()), 4) + 1
        vectors = translator.model.memory(read([text], 5)[:, :length])[0]
        np.testing.assert_allclose(
            outputs["embedding"][row], np.mean(vectors, axis=0), atol=1e-5
        )
    assert not outputs["embedding"][2].any()
    assert outputs["valid"].tolist() == [True, True, False]
    assert outputs["truncated"].tolist() == [False, True, False]


def test_examples_show_every_flag(translator):
    main, *_ = translator.task.signatures()
    flags = set()
    for example in main.examples:
        answer = translator.ask("translate", **example)
        flags |= set(zip(answer["valid"], answer["truncated"], strict=True))
    assert flags == {(True, False), (True, True), (False, False)}


def test_targets_may_start_with_padding_and_without_a_start_token(tmp_path):
    tokenizer = WordTokenizer(["[PAD]", "[UNK]", "[END]", *"abcdefgh"])
    assert tokenizer.start_id is None
    model = Transformer(
        tokenizer.vocabulary_size,
        num_layers=2,
        num_heads=2,
        units=8,
        position=None,
        relative_bias={"num_buckets": 4, "max_distance": 5},
        norm="pre",
        normalization="rms",
        activation="geglu_tanh",
        use_bias=False,
        tie_embeddings=False,
        scale_logits=True,
        logits_bias=True,
        pad_starts=True,
    )
    set_random(model, np.random.default_rng(7), scale=1.5)
    with pytest.raises(ValueError, match="target's tokenizer has no start"):
        Translation(model, tokenizer=tokenizer)
    task = Translation(model, tokenizer=tokenizer, start_id=0, max_length=6)
    folder = served.save(task, tmp_path / "served", "translate", "score")
    assert not served.other_ops(folder)
    texts = np.array([b"a b c", b"h", b"d d e f", b"g c a b"], object)
    source = tokenizer.to_dense(tf.constant(texts), 6, start=False)
    tokens = decoding.generate(
        model, source, max_length=6, start_id=0, end_id=tokenizer.end_id
    )
    wanted = tokenizer.detokenize(tokens).numpy()
    assert len(set(wanted)) > 2
    answers = np.array([b"b a", b"h h h", b"c", b""], object)
    found, scored = served.ask(
        folder,
        [
            ("translate", {"text": texts}),
            ("score", {"text": texts, "answer": answers}),
        ],
    )
    assert found["text"].tolist() == wanted.tolist()
    target = tokenizer.to_dense(tf.constant(answers), 5, start=False)
    fed = tf.pad(target, [[0, 0], [1, 0]])[:, :-1]
    logits = model({"source": source, "target": fed})
    log_probs = tf.nn.log_softmax(logits)
    chosen = tf.gather(log_probs, target, batch_dims=2).numpy()
    expected = (chosen * (target.numpy() != 0)).sum(axis=1)
    np.testing.assert_allclose(scored["log_probability"], expected, 1e-4)


# From here on: without an export.


def make(model, **settings):
    return Translation(model, **{"tokenizer": TOKENIZERS, **settings})


def test_sources_are_read_as_the_model_was_trained():
    task = make(
        writers.transformer(),
        source_length=6,
        source_start=True,
        reverse_source=True,
        start_id=TARGET.end_id,
    )
    (source,), _, _ = task.read(tf.constant([b"a b c", b"a b c d e"]))
    start, end = SOURCE.start_id, SOURCE.end_id
    assert source.numpy().tolist() == [
        [start, 7, 6, 5, end, 0],
        [start, 8, 7, 6, 5, end],
    ]
    _, first = task.begin(source)
    assert first.numpy().tolist() == [TARGET.end_id] * 2


def test_lengths_are_those_that_the_model_has_learned():
    learned = writers.transformer(position="learned", max_length=9)
    task = make(learned)
    assert (task.search.max_length, task.source_length) == (9, 9)
    task = make(writers.transformer(), max_length=7)
    assert (task.search.max_length, task.source_length) == (7, 7)
    assert make(writers.transformer()).search.max_length == 128
    with pytest.raises(ValueError, match="room for 9 tokens"):
        make(learned, max_length=10)
    with pytest.raises(ValueError, match="`source_length` is beyond"):
        make(learned, source_length=10)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"tokenizer": None}, "exported with the tokenizer"),
        ({"tokenizer": {"source": SOURCE}}, "Received as the target's: None"),
        (
            {"tokenizer": {"source": SOURCE, "target": writers.LARGER}},
            "knows 14 ids in its target",
        ),
        ({"tokenizer": TARGET}, "knows 13 ids in its source"),
        ({"search": "best"}, "`search` must be one of"),
        ({"start_id": 14}, "of which the model knows 14. Received: start_id"),
        ({"start_id": -1}, "`start_id` must be"),
        ({"labels": ["a"]}, "Received: labels"),
    ],
)
def test_what_does_not_fit_the_model_is_refused(settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        make(writers.transformer(), **settings)


def test_padding_must_be_what_the_model_masks():
    for pad_id in (None, 1):
        model = writers.transformer(pad_id=pad_id)
        with pytest.raises(ValueError, match="agree on the id of padding"):
            make(model)


def test_it_accepts_models_that_write_a_target_to_a_source():
    assert Translation.accepts(writers.transformer())
    assert not Translation.accepts(writers.gpt())
    assert not Translation.accepts(
        keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    )


class Babbler(keras.Model):
    """Writes ids that no tokenizer of it has, and has no encoder to ask."""

    def __init__(self):
        super().__init__()
        self.logits = keras.layers.Embedding(20, 20)
        self.logits.build(None)
        self.logits.set_weights([10 * np.roll(np.eye(20), 6, axis=1)])
        self.built = True

    def encode(self, inputs, max_length):
        rows = tf.shape(inputs["source"])[0]
        return {"count": tf.zeros([rows], tf.int32)}

    def step(self, token, state, index):
        return self.logits(token), {"count": state["count"] + 1}


def test_ids_that_no_tokenizer_has_are_written_as_nothing():
    task = make(Babbler(), max_length=3)
    names = [signature.name for signature in task.signatures()]
    assert names == ["translate", "translate_with_options", "score"]
    translate = trace(task.signatures()[0])
    # START is 2, then 8, 14 and 20 - 20 = 0.
    assert translate(text=tf.constant([b"a"]))["text"].numpy().tolist() == [
        b"v"
    ]
