import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.attention.pooling import AttentionPooling
from keras_attn.blocks.decoder import DecoderBlock
from keras_attn.blocks.encoder import EncoderBlock
from keras_attn.embeddings.sine_position import SinePosition
from keras_attn.embeddings.token import TokenEmbedding
from keras_attn.export.tasks.functional import FunctionalPrediction
from keras_attn.modifiers.rotary import Rotary
from tests.export import served

SIZES = [(0, 3, 2), (1, 1, 1), (3, 7, 5), (8, 2, 6)]


def composed(**options):
    """A model that a user might make of blocks, layers and modifiers."""
    source = keras.Input((None,), dtype="int32", name="source")
    target = keras.Input((None,), dtype="int64", name="target")
    weight = keras.Input((1,), name="weight")
    place = SinePosition(**options)
    memory = place(TokenEmbedding(11, 8, **options)(source))
    memory = EncoderBlock(2, 12, **options)(memory)
    x = place(TokenEmbedding(13, 8, **options)(target))
    x = DecoderBlock(2, 12, **options)(x, memory)
    x = MultiHeadAttention(2, 4, modifiers=[Rotary()], **options)(x, x)
    pooled = AttentionPooling(8, **options)(x)
    score = keras.layers.Dense(3, name="score", **options)(pooled * weight)
    return keras.Model(
        {"source": source, "target": target, "weight": weight},
        {"score": score, "first": source[:, 0]},
    )


@pytest.fixture(scope="module")
def model():
    return composed()


@pytest.fixture(scope="module")
def requests():
    rng = np.random.default_rng(0)
    return [
        {
            "source": rng.integers(1, 11, size=(batch, source), dtype="int32"),
            "target": rng.integers(1, 13, size=(batch, target), dtype="int64"),
            "weight": rng.normal(size=(batch, 1)).astype("float32"),
        }
        for batch, source, target in SIZES
    ]


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    task = FunctionalPrediction(model)
    folder = tmp_path_factory.mktemp("functional")
    return served.save(task, folder, "predict")


def check(model, requests, answers):
    for inputs, answer in zip(requests, answers, strict=True):
        expected = model(inputs)
        np.testing.assert_allclose(
            answer["score"], expected["score"], atol=1e-5
        )
        np.testing.assert_array_equal(answer["first"], expected["first"])
        assert answer["first"].dtype == "int32"


def test_the_server_answers_like_python(model, folder, requests):
    wrong = {**requests[2], "source": requests[2]["source"].copy()}
    wrong["source"][0, 1], wrong["source"][2, 0] = 11, -1
    asked = [("predict", inputs) for inputs in [*requests, wrong]]
    *answers, flagged = served.ask(folder, asked)
    for answer in answers:
        assert answer.keys() == {"score", "first", "valid"}
        assert answer["valid"].all()
    check(model, requests, answers)
    # A row with an id that is not there is flagged, and leaves the others.
    assert flagged["valid"].tolist() == [False, True, False]
    assert not flagged["score"][[0, 2]].any()
    np.testing.assert_allclose(
        flagged["score"][1], answers[2]["score"][1], atol=1e-5
    )


def test_only_core_ops_are_used(folder):
    assert not served.other_ops(folder)


@pytest.mark.slow
def test_it_answers_from_keras_own_export_too(model, requests, tmp_path):
    model.export(tmp_path, verbose=False)
    assert not served.other_ops(tmp_path)
    signatures = [("serving_default", inputs) for inputs in requests]
    check(model, requests, served.ask(tmp_path, signatures))


def test_examples_fit_the_inputs(model):
    (predict,) = FunctionalPrediction(model).signatures()
    assert {k: spec.dtype for k, spec in predict.inputs.items()} == {
        "source": tf.int32,
        "target": tf.int64,
        "weight": tf.float32,
    }
    assert predict.inputs["source"].shape.as_list() == [None, None]
    assert predict.inputs["weight"].shape.as_list() == [None, 1]
    for example in predict.examples:
        for name, spec in predict.inputs.items():
            assert example[name].dtype == spec.dtype.as_numpy_dtype
            assert spec.shape.is_compatible_with(example[name].shape)
        answer = predict.function(**example)
        assert np.isfinite(answer["score"]).all()


def test_half_precision_answers_in_single(requests):
    model = composed(dtype="mixed_bfloat16")
    (predict,) = FunctionalPrediction(model).signatures()
    inputs = {k: tf.constant(v) for k, v in requests[2].items()}
    score = predict.function(**inputs)["score"]
    assert score.dtype == tf.float32
    np.testing.assert_array_equal(
        score, tf.cast(model(inputs)["score"], tf.float32)
    )


def test_half_precision_is_asked_in_single():
    image = keras.Input((3,), dtype="float16", name="image")
    double = keras.layers.Rescaling(2.0, dtype="float16", name="double")(image)
    task = FunctionalPrediction(keras.Model(image, double))
    (predict,) = task.signatures()
    assert predict.inputs["image"].dtype == tf.float32
    answer = predict.function(image=tf.constant([[0.5, 1.0, 2.0]]))
    assert answer["double"].numpy().tolist() == [[1.0, 2.0, 4.0]]


def test_a_model_that_does_not_say_what_it_takes_is_refused():
    model = keras.Sequential([keras.layers.Dense(2)], name="unknown")
    with pytest.raises(
        ValueError, match=r"'unknown' does not say .* with keras.Input"
    ):
        FunctionalPrediction(model)


def test_an_output_may_not_have_the_name_of_the_flag():
    ids = keras.Input((3,), dtype="int32")
    vectors = keras.layers.Embedding(5, 2)(ids)
    with pytest.raises(ValueError, match="'valid' must have another name"):
        FunctionalPrediction(keras.Model(ids, {"valid": vectors}))


def test_an_output_without_the_batch_is_refused():
    inputs = keras.Input((3,), name="inputs")
    model = keras.Model(inputs, {"mean": keras.ops.mean(inputs)})
    with pytest.raises(ValueError, match="'mean' must have the batch"):
        FunctionalPrediction(model)
