import keras
import numpy as np
import pytest

from keras_attn.export import export_model
from keras_attn.export import serve
from keras_attn.export.tasks import registry
from keras_attn.export.tasks.sequence_prediction import SequencePrediction
from keras_attn.models import SequenceRegressor
from keras_attn.text import CharacterTokenizer
from keras_attn.text.special_tokens import DEFAULT
from tests.export import echo
from tests.export import served
from tests.models.stepping import set_random

LETTERS = CharacterTokenizer([*DEFAULT, *"ACDEFGH"])
SIZE = LETTERS.vocabulary_size
PROTEINS = ["A", "CADE", "HGFED", "DDDDDDDD", "", b"\xff"]
MAX_LENGTH = 6


def make(**options):
    model = SequenceRegressor(units=8, **options)
    set_random(model, np.random.default_rng(4))
    return model


def as_bytes(texts):
    texts = [t.encode() if isinstance(t, str) else t for t in texts]
    return np.array(texts, object)


@pytest.mark.slow
def test_the_server_tells_numbers_of_texts(tmp_path):
    model = make(num_outputs=1, vocabulary_size=SIZE, processing="convolution")
    folder = tmp_path / "stability"
    version = export_model(  # which verifies it in the C++ loader
        model, folder, tokenizer=LETTERS, max_length=MAX_LENGTH
    )
    assert not served.other_ops(version)
    (answer,) = served.ask(version, [("regress", {"text": as_bytes(PROTEINS)})])
    assert answer.keys() == {"value", "valid", "truncated"}
    assert answer["valid"].tolist() == [True] * 4 + [False] * 2
    assert answer["truncated"].tolist() == [False] * 3 + [True] + [False] * 2
    for protein, value in zip(PROTEINS[:4], answer["value"], strict=False):
        ids = LETTERS(protein[:MAX_LENGTH]).numpy()[None]
        np.testing.assert_allclose(value, model(ids)[0, 0], rtol=1e-5)
    assert not answer["value"][4:].any()
    with serve(folder, grpc_port=0, rest_port=0) as server:
        status, body = echo.http(
            server.rest_port,
            "/v1/models/stability:predict",
            {"signature_name": "regress", "inputs": {"text": PROTEINS[:2]}},
        )
    assert status == 200
    np.testing.assert_allclose(
        body["outputs"]["value"], answer["value"][:2], rtol=1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize("ids", [True, False], ids=["ids", "vectors"])
def test_the_server_tells_numbers_of_numbers(ids, tmp_path):
    takes = {"vocabulary_size": 9} if ids else {"num_features": 3}
    model = make(num_outputs=2, cell="gru", **takes)
    folder = tmp_path / "stability"
    export_model(model, folder)  # which verifies it in the C++ loader
    rng = np.random.default_rng(0)
    if ids:
        steps = {"tokens": rng.integers(1, 9, size=(4, 5)).astype("int32")}
        steps["tokens"][1, 3:] = 0
        steps["tokens"][2, 1] = 9  # which is not there
    else:
        steps = {"sequence": rng.normal(size=(4, 5, 3)).astype("float32")}
    ((name, rows),) = steps.items()
    valid = [True, True, not ids, True]
    expected = np.zeros((4, 2))
    expected[valid] = model(rows[valid])
    with serve(folder, grpc_port=0, rest_port=0) as server:
        status, body = echo.http(
            server.rest_port,
            "/v1/models/stability:predict",
            {"signature_name": "regress", "inputs": {name: rows.tolist()}},
        )
        called = echo.rpc(
            server.grpc_port, "regress", model="stability", **steps
        )
    assert status == 200
    for answer in (body["outputs"], called):
        assert np.array(answer["valid"]).tolist() == valid
        np.testing.assert_allclose(answer["value"], expected, 1e-4, 1e-5)


@pytest.mark.slow
def test_the_server_sorts_films_frame_by_frame(tmp_path):
    encoder = keras.Sequential(
        [
            keras.Input((3, 4, 1)),
            keras.layers.Conv2D(2, 2),
            keras.layers.GlobalMaxPooling2D(),
        ]
    )
    model = make(
        num_classes=3,
        frame_encoder=encoder,
        cell="gru",
        return_sequences=True,
    )
    names = ["still", "slow", "fast"]
    version = export_model(model, tmp_path, labels=names)
    assert not served.other_ops(version)
    film = np.random.default_rng(0).normal(size=(2, 5, 3, 4, 1))
    film[1, 3:] = 0
    film = film.astype("float32")
    (answer,) = served.ask(version, [("classify", {"sequence": film})])
    logits = model(film).numpy()
    scores = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    scores[1, 3:] = 0
    np.testing.assert_allclose(answer["scores"], scores, rtol=1e-4, atol=1e-6)
    labels = np.array(names, object)[logits.argmax(axis=-1)]
    labels[1, 3:] = ""
    assert answer["label"].tolist() == [
        [label.encode() for label in row] for row in labels
    ]


def ask(task, **inputs):
    """What the first verb answers, in Python."""
    answer = task.signatures()[0].function(**inputs)
    return {name: output.numpy() for name, output in answer.items()}


def test_ids_that_are_not_there_make_a_row_invalid():
    model = make(num_classes=3, vocabulary_size=9, processing="convolution")
    task = registry.for_model(model)
    assert isinstance(task, SequencePrediction)
    ids = np.array([[1, 2, 8], [1, 9, 2], [-1, 1, 0], [3, 0, 0]], "int32")
    answer = ask(task, tokens=ids)
    assert answer["valid"].tolist() == [True, False, False, True]
    logits = model(ids[[0, 3]]).numpy()
    assert answer["label"].tolist() == [
        *(logits[0].argmax(), -1, -1, logits[1].argmax())
    ]
    assert not answer["scores"][1:3].any()
    np.testing.assert_allclose(answer["scores"].sum(axis=1), [1, 0, 0, 1], 1e-5)


def test_several_numbers_keep_their_axis():
    model = make(num_outputs=2, num_features=3, processing="convolution")
    x = np.random.default_rng(0).normal(size=(4, 5, 3)).astype("float32")
    answer = ask(SequencePrediction(model), sequence=x)
    np.testing.assert_allclose(answer["value"], model(x), rtol=1e-5)
    assert answer["valid"].all()


def test_compiled_signatures_give_the_same():
    model = make(num_outputs=1, vocabulary_size=SIZE, processing="convolution")
    task = SequencePrediction(
        model, tokenizer=LETTERS, max_length=MAX_LENGTH, xla=True
    )
    plain, compiled = task.signatures()
    assert (plain.name, compiled.name) == ("regress", "regress_xla")
    for example in plain.examples:
        one, two = plain.function(**example), compiled.function(**example)
        assert one.keys() == two.keys()
        np.testing.assert_allclose(one["value"], two["value"], rtol=1e-5)


@pytest.mark.parametrize(
    ("model", "settings", "complaint"),
    [
        ({"num_features": 3}, {"tokenizer": LETTERS}, "`vocabulary_size`"),
        (
            {"vocabulary_size": SIZE, "pad_id": None},
            {"tokenizer": LETTERS},
            "a `pad_id`",
        ),
        ({"vocabulary_size": 5}, {"tokenizer": LETTERS}, "knows 5 ids"),
        ({"vocabulary_size": 5}, {"tokenizer": "ACD"}, "exported with"),
        ({"vocabulary_size": 5}, {"labels": ["a"]}, "`labels` name classes"),
        ({"vocabulary_size": 5}, {"max_length": 4}, "Give a `tokenizer`"),
        (
            {"vocabulary_size": SIZE},
            {"tokenizer": LETTERS, "max_length": 0},
            "`max_length` must be",
        ),
    ],
)
def test_what_does_not_fit_the_model_is_refused(model, settings, complaint):
    model = SequenceRegressor(num_outputs=1, units=4, **model)
    with pytest.raises(ValueError, match=complaint):
        SequencePrediction(model, **settings)


def test_another_model_is_refused():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    with pytest.raises(ValueError, match="serves a `SequenceRegressor`"):
        SequencePrediction(model)
