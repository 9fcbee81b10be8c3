"""Vision transformers, exported and asked as a server does it."""

import base64
import functools

import numpy as np
import pytest
import tensorflow as tf

from keras_attn import data
from keras_attn import plot
from keras_attn.export import export_model
from keras_attn.export import servable
from keras_attn.export import serve
from keras_attn.export.bundle import model_card
from keras_attn.export.graph.signature import text_column
from keras_attn.export.tasks import registry
from keras_attn.models import ViT
from tests.export import echo
from tests.export import served
from tests.export.image_files import BAD
from tests.export.image_files import GOOD
from tests.models.stepping import set_random

SIZE = 4, 6
GRID = 2, 3
NAMES = ["cat", "dog", "neither", "both", "unclear"]
FILES = [GOOD["png"], BAD["half_a_jpeg"], GOOD["wide"]]


def vit(num_classes=5, **options):
    model = ViT(
        SIZE,
        patch_size=2,
        num_layers=2,
        num_heads=2,
        units=8,
        num_classes=num_classes,
        **options,
    )
    set_random(model, np.random.default_rng(5))
    return model


@functools.cache
def pixels(*files):
    """(batch, height, width, 3) by the training pipeline."""
    examples = tf.data.Dataset.from_tensor_slices(
        {"image": list(files), "label": [0] * len(files)}
    )
    task = data.image_classification(examples, size=SIZE)
    return np.stack([image for image, _ in task.as_numpy_iterator()])


def by_the_paper(weights):
    """Attention rollout in float64: (batch, tokens, tokens)."""
    rolled = np.identity(weights[0].shape[-1])
    for layer in weights:
        mean = np.mean(np.asarray(layer, "float64"), axis=1)
        mixed = 0.5 * mean + 0.5 * np.identity(mean.shape[-1])
        rolled = mixed / mixed.sum(axis=-1, keepdims=True) @ rolled
    return rolled


def attended(model, tokens):
    """The weights of attention pooling, by its equation."""
    layer = model.head.attention_pooling
    kernel, bias = layer.hidden_dense.get_weights()
    hidden = np.tanh(np.asarray(tokens) @ kernel + bias)
    scores = np.exp(hidden @ np.asarray(layer.query)[0])
    return scores / scores.sum(axis=-1, keepdims=True)


READ = {
    "token": ({}, lambda rolled, *_: rolled[:, 0, 1:]),
    "distilled": ({"num_class_tokens": 2}, lambda rolled, *_: rolled[:, 0, 2:]),
    "mean": ({"pooling": "mean"}, lambda rolled, *_: rolled.mean(axis=1)),
    "mean beside registers": (
        {"pooling": "mean", "num_class_tokens": 2},
        lambda rolled, *_: rolled[:, 2:, 2:].mean(axis=1),
    ),
    "attention": (
        {"pooling": "attention"},
        lambda rolled, *given: np.einsum(
            "bq,bqk->bk", attended(*given), rolled
        ),
    ),
}


@pytest.mark.parametrize("form", READ)
def test_attention_is_the_rollout_of_what_the_head_reads(form):
    options, read = READ[form]
    model = vit(**options)
    task = registry.for_model(model)
    images = pixels(FILES[0], FILES[2])
    tokens, weights = model.tokens(images, return_attention_scores=True)
    expected = read(by_the_paper(weights), model, tokens)
    answer = task.attention(images)
    np.testing.assert_allclose(answer, expected.reshape(2, *GRID), atol=1e-5)
    np.testing.assert_allclose(task.embed(images), model.pool(tokens))


def test_files_that_are_no_images_get_nothing():
    made = {each.name: each for each in registry.for_model(vit()).signatures()}
    assert list(made) == ["classify", "embed", "attention", "predict"]
    for verb in ("classify", "embed", "attention"):
        answer = made[verb].function(tf.constant(FILES))
        assert answer.pop("valid").numpy().tolist() == [True, False, True]
        for name, output in answer.items():
            assert name == "label" or not output[1].numpy().any()
            assert name == "label" or output[0].numpy().any()


def test_without_a_head_there_are_no_classes():
    model = vit(num_classes=None)
    task = registry.for_model(model)
    names = [signature.name for signature in task.signatures()]
    assert names == ["embed", "attention", "predict"]
    images = pixels(FILES[0], FILES[2])
    np.testing.assert_allclose(task.embed(images), model(images), atol=1e-6)
    with pytest.raises(ValueError, match="no classes to name"):
        registry.for_model(model, labels=NAMES)


def test_a_vit_of_tokens_is_served_as_any_other_model():
    task = registry.for_model(vit(num_classes=None, pooling=None))
    assert [each.name for each in task.signatures()] == ["predict"]


@pytest.mark.slow
def test_a_server_answers_from_a_png_file(tmp_path):
    model = vit()
    made = servable(model, labels=NAMES)
    folder = tmp_path / "vit"
    version = export_model(made, folder)  # verified in the C++ loader
    assert not served.other_ops(version)
    card = (version / model_card.PATH).read_text()
    assert "| `embed` |" in card and "| `attention` |" in card

    path = tmp_path / "image.png"
    path.write_bytes(GOOD["png"])
    files = [path.read_bytes(), *FILES[1:]]
    images = pixels(files[0], files[2])
    tokens, weights = model.tokens(images, return_attention_scores=True)
    scores = tf.nn.softmax(model(images)).numpy()
    rolled = by_the_paper(weights)[:, 0, 1:].reshape(2, *GRID)
    expected = {
        "classify": ("scores", scores),
        "embed": ("embedding", model.pool(tokens)),
        "attention": ("weights", rolled),
    }
    names = [NAMES[number] for number in scores.argmax(axis=-1)]
    column = [{"b64": base64.b64encode(file).decode()} for file in files]
    with serve(folder, grpc_port=0, rest_port=0) as server:
        for verb, (output, wanted) in expected.items():
            status, answer = echo.http(
                server.rest_port,
                "/v1/models/vit:predict",
                {"inputs": column, "signature_name": verb},
            )
            assert status == 200, answer
            called = echo.rpc(
                server.grpc_port,
                verb,
                model="vit",
                image_bytes=text_column(*files),
            )
            for answered in (answer["outputs"], called):
                valid = np.array(answered["valid"])
                assert valid.tolist() == [True, False, True]
                numbers = np.array(answered[output])
                np.testing.assert_allclose(numbers[valid], wanted, atol=1e-5)
                assert not numbers[1].any()
            if verb == "classify":
                assert answer["outputs"]["label"] == [names[0], "", names[1]]
        status, main = echo.http(
            server.rest_port, "/v1/models/vit:predict", {"inputs": column}
        )
    assert status == 200 and main["outputs"]["label"][0] == names[0]
    # What was asked in Python is what was served, and can be drawn.
    answer = made.attention([path])
    np.testing.assert_allclose(answer["weights"], rolled[:1], atol=1e-5)
    figure = plot.rollout(answer, images[0])
    drawn = figure.axes[1].images[1].get_array()
    np.testing.assert_array_equal(drawn, answer["weights"][0])


@pytest.mark.slow
def test_compiled_twins_answer_the_same():
    task = registry.for_model(vit(pooling="attention"), xla=True)
    signatures = task.signatures()
    verbs = ["classify", "embed", "attention", "predict"]
    assert [each.name for each in signatures] == [
        name for verb in verbs for name in (verb, f"{verb}_xla")
    ]
    for plain, compiled in zip(signatures[::2], signatures[1::2], strict=True):
        example = plain.examples[-1]
        expected = plain.function(**example)
        answer = tf.function(compiled.function)(**example)
        assert answer.keys() == expected.keys()
        for name, output in answer.items():
            close = np.isclose(output, expected[name], atol=1e-5)
            assert close.all(), name
