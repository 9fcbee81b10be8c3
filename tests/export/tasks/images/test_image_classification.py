import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.attention.pooling import AttentionPooling
from keras_attn.export.tasks.images.image_classification import (
    ImageClassification,
)
from keras_attn.image.decode import decode_image
from tests.export import served
from tests.export.image_files import BAD
from tests.export.image_files import GOOD
from tests.export.image_files import MAX_PIXELS

LABELS = ["cat", "dog", "neither", "both"]
HEIGHT, WIDTH = 6, 4


def classifier(channels=3, activation=None):
    """Patches of 2 by 2 that look at each other."""
    image = keras.Input((HEIGHT, WIDTH, channels), name="image")
    x = keras.layers.Conv2D(8, 2, strides=2)(image)
    x = keras.layers.Reshape((-1, 8))(x)
    x = MultiHeadAttention(2, 4)(x, x)
    x = keras.layers.Flatten()(AttentionPooling(8)(x))
    logits = keras.layers.Dense(4, activation=activation)(x)
    return keras.Model(image, logits)


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    return classifier()


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    task = ImageClassification(model, labels=LABELS, max_pixels=MAX_PIXELS)
    folder = tmp_path_factory.mktemp("classifier")
    return served.save(task, folder, "classify", "predict")


def as_column(files):
    column = np.empty(len(files), object)
    column[:] = files
    return column


def test_the_server_classifies_like_python(model, folder):
    good, bad = list(GOOD.values()), list(BAD.values())
    batches = [[], good[:1], good[1:4], good[2:], [*bad, good[8], *bad], bad]
    requests = [
        ("classify", {"image_bytes": as_column(files)}) for files in batches
    ]
    images = np.random.default_rng(0).normal(size=(2, HEIGHT, WIDTH, 3))
    images = images.astype("float32")
    requests.append(("predict", {"image": images}))
    *answers, pixels = served.ask(folder, requests)
    ((_, logits),) = pixels.items()
    np.testing.assert_allclose(logits, model(images), atol=1e-5)
    assert answers[0]["scores"].shape == (0, 4)
    for files, answer in zip(batches, answers, strict=True):
        assert answer.keys() == {"label", "scores", "valid"}
        assert answer["valid"].tolist() == [file in good for file in files]
        for number, file in enumerate(files):
            if file not in good:
                assert answer["label"][number] == b""
                assert not answer["scores"][number].any()
                continue
            image = decode_image(file, (HEIGHT, WIDTH))
            scores = tf.nn.softmax(model(image[tf.newaxis])[0])
            np.testing.assert_allclose(
                answer["scores"][number], scores, atol=1e-5
            )
            name = LABELS[np.argmax(scores)].encode()
            assert answer["label"][number] == name


def test_only_core_ops_are_used(folder):
    assert not served.other_ops(folder)


def test_grey_and_another_range_are_as_the_caller_says():
    model = classifier(channels=1)
    task = ImageClassification(model, fit="squeeze", value_range=(-1, 1))
    classify, _ = task.signatures()
    answer = classify.function(tf.constant([GOOD["wide"]]))
    image = decode_image(GOOD["wide"], (HEIGHT, WIDTH), 1, fit="squeeze")
    expected = tf.nn.softmax(model(2 * image[tf.newaxis] - 1))
    np.testing.assert_allclose(answer["scores"], expected, atol=1e-5)
    assert answer["label"].numpy().tolist() == [np.argmax(expected)]


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_probabilities_are_given_as_they_are(activation, nested):
    model = classifier(activation=activation)
    if nested:
        image = keras.Input((HEIGHT, WIDTH, 3))
        model = keras.Model(image, model(image))
    image = decode_image(GOOD["png"], (HEIGHT, WIDTH))
    expected = model(image[tf.newaxis])
    classify, _ = ImageClassification(model).signatures()
    scores = classify.function(tf.constant([GOOD["png"]]))["scores"]
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    task = ImageClassification(model, from_logits=True)
    classify, _ = task.signatures()
    scores = classify.function(tf.constant([GOOD["png"]]))["scores"]
    np.testing.assert_allclose(scores, tf.nn.softmax(expected), atol=1e-5)


def test_examples_are_files_of_which_one_is_broken(model):
    classify, _ = ImageClassification(model).signatures()
    valid = [
        classify.function(**example)["valid"].numpy().tolist()
        for example in classify.examples
    ]
    assert valid == [[True], [True, False, True]]


@pytest.mark.slow
def test_compiled_twins_answer_the_same(model):
    signatures = ImageClassification(model, xla=True).signatures()
    names = ["classify", "classify_xla", "predict", "predict_xla"]
    assert [signature.name for signature in signatures] == names
    for signature, twin in zip(signatures[::2], signatures[1::2], strict=True):
        assert twin.compiled and not signature.compiled
        for example in signature.examples:
            expected = signature.function(**example)
            answer = tf.function(twin.function)(**example)
            assert answer.keys() == expected.keys()
            for name, output in answer.items():
                close = np.isclose(output, expected[name], atol=1e-5)
                assert close.all(), name


def test_other_models_are_told_apart():
    image = keras.Input((HEIGHT, WIDTH, 3))
    flat = keras.layers.Flatten()(image)
    scores = keras.layers.Dense(4)(flat)
    any_size = keras.Input((None, None, 3))
    pooled = keras.layers.GlobalAveragePooling2D()(any_size)
    two = keras.Input((HEIGHT, WIDTH, 2))
    assert ImageClassification.accepts(keras.Model(image, scores))
    for model in (
        keras.Model(image, image + 1),
        keras.Model(image, [scores, flat]),
        keras.Model(any_size, pooled),
        keras.Model(two, keras.layers.Flatten()(two)),
        keras.Sequential([keras.layers.Dense(2)]),
    ):
        assert not ImageClassification.accepts(model)
        with pytest.raises(ValueError, match="height, width"):
            ImageClassification(model)


def test_names_must_be_as_many_as_classes(model):
    with pytest.raises(ValueError, match="4 classes"):
        ImageClassification(model, labels=LABELS[:3])
