import base64

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export import export_model
from keras_attn.export import servable
from keras_attn.export import serve
from keras_attn.export.tasks import registry
from keras_attn.export.tasks.images.image_generation import ImageGeneration
from keras_attn.models import ViT
from tests.export import echo
from tests.export import served
from tests.models.sagan import small

SEEDS = np.array([3, -1, 5, 7, 3])
CLASSES = np.array([0, 1, 3, 2, 0])
VALID = [True, False, False, True, True]
NAMES = ["cat", "dog", "bird"]
LOW, HIGH = RANGE = (-2.0, 3.0)


def make(**options):
    """A model whose classes differ, and whose average is its own."""
    model = small.make(value_range=RANGE, **options)
    rng = np.random.default_rng(7)
    for weight in model.average.weights:
        numbers = rng.normal(size=weight.shape)
        weight.assign(1 + numbers**2 if "variance" in weight.path else numbers)
    return model


def pixels(images):
    """Images of a range as 8-bit numbers."""
    return np.round(255 * (np.array(images) - LOW) / (HIGH - LOW))


def decoded(files):
    return np.stack([tf.io.decode_png(x).numpy() for x in files])


def asked(signature, classes):
    request = {"seed": tf.constant(SEEDS), "label": tf.constant(classes)}
    answer = signature.function(**request)
    return {name: x.numpy() for name, x in answer.items()}


def assert_answers(answer, expected):
    assert np.array(answer["valid"]).tolist() == VALID
    files = list(answer["image_bytes"])
    assert files[1] == files[2] == b""
    made = decoded([file for file in files if file])
    # Rounding may fall to either side.
    assert np.abs(made - expected).max() <= 1
    assert made.std() > 5
    assert files[0] == files[4]


def test_a_row_is_an_image_of_its_seed_and_class():
    model = make()
    expected = pixels(model.generate([3, 7, 3], [0, 2, 0]))
    task = registry.for_model(model)
    assert isinstance(task, ImageGeneration)
    (signature,) = task.signatures()
    assert signature.name == "generate"
    assert_answers(asked(signature, CLASSES), expected)
    assert len(task.weights) == len(model.average.weights)

    named = ImageGeneration(model, labels=NAMES).signatures()[0]
    classes = np.array([b"cat", b"dog", b"fish", b"bird", b"cat"], object)
    assert_answers(asked(named, classes), expected)


@pytest.mark.slow
def test_a_server_answers_with_png_files(tmp_path):
    model = make()
    expected = pixels(model.generate([3, 7, 3], [0, 2, 0]))
    folder = tmp_path / "sagan"
    version = export_model(model, folder)  # verified in the C++ loader
    assert not served.other_ops(version)
    request = {"seed": SEEDS, "label": CLASSES}
    (answer,) = served.ask(version, [("generate", request)])
    assert_answers(answer, expected)
    with serve(folder, grpc_port=0, rest_port=0) as server:
        status, body = echo.http(
            server.rest_port,
            "/v1/models/sagan:predict",
            {"inputs": {k: v.tolist() for k, v in request.items()}},
        )
        assert status == 200, body
        called = echo.rpc(
            server.grpc_port, "generate", model="sagan", **request
        )
    files = [base64.b64decode(x["b64"]) for x in body["outputs"]["image_bytes"]]
    assert_answers({**body["outputs"], "image_bytes": files}, expected)
    assert_answers(called, expected)


@pytest.mark.slow
def test_a_model_of_one_kind_takes_seeds_alone():
    model = make(num_classes=None)
    answer = servable(model).generate([4])
    expected = pixels(model.generate([4]))
    made = decoded(answer["image_bytes"])
    assert np.abs(made - expected).max() <= 1


@pytest.mark.slow
def test_the_compiled_twin_answers_the_same():
    task = registry.for_model(make(), xla=True)
    plain, compiled = task.signatures()
    assert compiled.name == "generate_xla" and compiled.compiled
    example = plain.examples[-1]
    expected, answer = (
        tf.function(each.function)(**example) for each in (plain, compiled)
    )
    valid = expected["valid"].numpy()
    assert valid.tolist() == answer["valid"].numpy().tolist()
    images = [
        decoded(x["image_bytes"].numpy()[valid]).astype(int)
        for x in (expected, answer)
    ]
    assert np.abs(images[0] - images[1]).max() <= 1


def test_refuses_what_it_cannot_serve():
    with pytest.raises(ValueError, match="serves a `SAGAN`"):
        ImageGeneration(
            ViT(4, patch_size=2, num_layers=1, num_heads=2, units=4)
        )
    with pytest.raises(ValueError, match="a model of 2"):
        ImageGeneration(small.make(channels=2))
    with pytest.raises(ValueError, match="has no classes"):
        ImageGeneration(small.make(num_classes=None), labels=NAMES)
    with pytest.raises(ValueError, match="3 classes apart"):
        ImageGeneration(small.make(), labels=NAMES[:2])
