import inspect
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.losses.masked_crossentropy import MaskedCrossentropy
from keras_attn.training.metrics.masked_accuracy import MaskedAccuracy
from keras_attn.training.metrics.perplexity import Perplexity
from keras_attn.training.schedules.warmup_rsqrt import WarmupRsqrt
from tests.training import cases

SMOOTHINGS = pytest.mark.parametrize("smoothing", [0.0, 0.3])


def with_mask(logits, mask):
    logits = tf.convert_to_tensor(logits)
    logits._keras_mask = tf.convert_to_tensor(mask)
    return logits


@SMOOTHINGS
@pytest.mark.parametrize("pad_id", [0, -100])
def test_is_the_mean_over_real_labels(pad_id, smoothing, rng):
    labels, logits = cases.padded_batch(rng, pad_id)
    loss = MaskedCrossentropy(pad_id, label_smoothing=smoothing)
    expected = cases.mean_crossentropy(
        labels, logits, cases.real_positions(), smoothing
    )
    np.testing.assert_allclose(loss(labels, logits), expected, rtol=1e-12)


def test_without_a_pad_id_it_is_the_mean_over_all_labels(rng):
    labels, logits = cases.padded_batch(rng)
    np.testing.assert_allclose(
        MaskedCrossentropy(None)(labels, logits),
        cases.mean_crossentropy(labels, logits, np.ones((2, 6))),
        rtol=1e-12,
    )


@SMOOTHINGS
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("masked", [False, True], ids=["bare", "masked"])
def test_weights_and_keras_masks_keep_it_a_mean(
    masked, weighted, smoothing, rng
):
    labels, logits = cases.padded_batch(rng)
    weights = cases.real_positions().astype("float64")
    # More is real to the mask than to the labels, but for one position.
    mask = np.ones((2, 6), bool)
    mask[1, 0] = False
    given = rng.uniform(1, 2, size=(2, 6))
    expected = cases.mean_crossentropy(
        labels,
        logits,
        weights * (mask if masked else 1) * (given if weighted else 1),
        smoothing,
    )
    loss = MaskedCrossentropy(label_smoothing=smoothing)(
        labels,
        with_mask(logits, mask) if masked else logits,
        given if weighted else None,
    )
    np.testing.assert_allclose(loss, expected, rtol=1e-12)


def test_the_scale_of_the_weights_does_not_matter(rng):
    labels, logits = cases.padded_batch(rng)
    loss = MaskedCrossentropy()
    np.testing.assert_allclose(
        loss(labels, logits, np.full(2, 7.0)), loss(labels, logits), rtol=1e-12
    )


@SMOOTHINGS
@pytest.mark.parametrize("compiled", [False, True], ids=["graph", "xla"])
def test_the_gradient_is_that_of_the_mean(compiled, smoothing, rng):
    labels, logits = cases.padded_batch(rng)
    given = rng.uniform(1, 2, size=2)
    loss = MaskedCrossentropy(label_smoothing=smoothing)

    @tf.function(jit_compile=compiled)
    def gradient(logits):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            mean = loss(labels, logits, given)
        return tape.gradient(mean, logits)

    weights = cases.real_positions() * given[:, None]
    np.testing.assert_allclose(
        gradient(tf.constant(logits)),
        cases.slopes(
            lambda z: cases.mean_crossentropy(labels, z, weights, smoothing),
            logits,
        ),
        atol=1e-9,
    )


@SMOOTHINGS
@pytest.mark.parametrize("rows", [0, 2])
def test_nothing_but_padding_gives_zero_with_finite_gradients(rows, smoothing):
    logits = tf.fill((rows, 3, 4), np.float16(6e4))
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = MaskedCrossentropy(label_smoothing=smoothing)(
            np.zeros((rows, 3), "int32"), logits
        )
    assert float(loss) == 0.0
    np.testing.assert_array_equal(
        tape.gradient(loss, logits), np.zeros((rows, 3, 4))
    )


def test_half_precision_logits_give_a_single_precision_mean():
    # 4,000 labels: their sum of losses is more than float16 can hold.
    logits = np.tile(np.array([6e4, 0.0, 5e4], "float16"), (4, 1000, 1))
    loss = MaskedCrossentropy()(np.full((4, 1000), 2), logits)
    assert loss.dtype == "float32"
    one = float(logits[0, 0, 0]) - float(logits[0, 0, 2])
    np.testing.assert_allclose(loss, one, rtol=1e-6)


def test_ids_are_not_rounded_when_keras_is_in_half_precision(rng):
    # 2,049 is no float16.
    logits = rng.normal(size=(1, 1, 2051)).astype("float32")
    before = keras.config.floatx()
    keras.config.set_floatx("float16")
    try:
        loss = MaskedCrossentropy()(np.array([[2049]]), logits)
    finally:
        keras.config.set_floatx(before)
    expected = -cases.log_softmax(logits)[0, 0, 2049]
    np.testing.assert_allclose(loss, expected, rtol=1e-6)


def test_call_gives_the_losses_one_by_one(rng):
    labels, logits = cases.padded_batch(rng)
    loss = MaskedCrossentropy(label_smoothing=0.3)
    losses = loss.call(labels, logits).numpy()
    real = cases.real_positions()
    np.testing.assert_array_equal(losses[~real], 0.0)
    np.testing.assert_allclose(
        losses[real].mean(), loss(labels, logits), rtol=1e-12
    )


def test_the_config_is_the_constructor():
    loss = MaskedCrossentropy(3, label_smoothing=0.1, name="nll")
    arguments = inspect.signature(MaskedCrossentropy).parameters
    assert loss.get_config().keys() == arguments.keys()
    config = keras.saving.serialize_keras_object(loss)
    assert config["registered_name"] == "keras_attn>MaskedCrossentropy"
    again = keras.saving.deserialize_keras_object(config)
    assert again.get_config() == loss.get_config()


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, float("nan")])
def test_rejects_smoothing_that_leaves_the_label_nothing(smoothing):
    with pytest.raises(ValueError, match=r"`label_smoothing`.*less than 1"):
        MaskedCrossentropy(label_smoothing=smoothing)


def test_rejects_a_pad_id_that_is_no_number():
    with pytest.raises(ValueError, match="`pad_id` must be an integer"):
        MaskedCrossentropy("pad")


def test_an_id_outside_of_the_vocabulary_is_not_overlooked():
    loss = MaskedCrossentropy(label_smoothing=0.1)
    labels, logits = np.array([[9]]), np.zeros((1, 1, 4), "float32")
    with pytest.raises(tf.errors.InvalidArgumentError, match="9"):
        loss(labels, logits)
    compiled = tf.function(loss, jit_compile=True)
    assert np.isnan(compiled(labels, logits))


@pytest.mark.peers
@SMOOTHINGS
@pytest.mark.parametrize("pad_id", [0, -100])
def test_equals_torch(pad_id, smoothing, rng):
    import torch

    labels, logits = cases.padded_batch(rng, pad_id)
    expected = torch.tensor(logits, requires_grad=True)
    loss = torch.nn.functional.cross_entropy(
        expected.reshape(-1, cases.VOCABULARY),
        torch.tensor(labels.reshape(-1), dtype=torch.int64),
        ignore_index=pad_id,
        label_smoothing=smoothing,
    )
    loss.backward()
    logits = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        ours = MaskedCrossentropy(pad_id, label_smoothing=smoothing)(
            labels, logits
        )
    np.testing.assert_allclose(ours, loss.item(), rtol=1e-12)
    np.testing.assert_allclose(
        tape.gradient(ours, logits), expected.grad.numpy(), atol=1e-15
    )


def small_model(*, mask_zero=False, jit_compile=False, dtype="float32"):
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((cases.LENGTH,), dtype="int32"),
            keras.layers.Embedding(
                cases.VOCABULARY, 5, mask_zero=mask_zero, dtype=dtype
            ),
            keras.layers.Dense(cases.VOCABULARY, dtype=dtype),
        ]
    )
    model.compile(
        keras.optimizers.Adam(WarmupRsqrt(peak=0.05, warmup_steps=3)),
        loss=MaskedCrossentropy(label_smoothing=0.1),
        metrics=[MaskedAccuracy(), Perplexity()],
        jit_compile=jit_compile,
    )
    return model


def fitted(inputs, labels, **options):
    """Return what a fit ends with: its measures, then the weights."""
    model = small_model(**options)
    history = model.fit(inputs, labels, epochs=4, verbose=0).history
    measures = [history[name][-1] for name in sorted(history)]
    return [np.array(measures), *model.get_weights()]


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [
        ({}, 1e-5),
        ({"mask_zero": True}, 1e-5),
        ({"jit_compile": True}, 1e-5),
        ({"dtype": "mixed_float16"}, 5e-3),
    ],
    ids=["plain", "keras_mask", "xla", "half"],
)
def test_padding_of_any_content_changes_nothing_in_a_fit(
    options, tolerance, rng
):
    real = cases.real_positions()
    inputs = rng.integers(1, cases.VOCABULARY, size=(2, cases.LENGTH))
    labels = np.where(real, inputs[:, ::-1], 0)
    expected = fitted(inputs, labels)

    others = rng.integers(1, cases.VOCABULARY, size=(5, cases.LENGTH))
    others[:2] = np.where(real, inputs, others[:2])
    padded = np.zeros_like(others)
    padded[:2] = labels
    if options.get("mask_zero"):
        others = np.where(padded, others, 0)
    for found, wanted in zip(
        fitted(others, padded, **options), expected, strict=True
    ):
        np.testing.assert_allclose(
            found, wanted, rtol=tolerance, atol=tolerance
        )


def test_a_saved_model_goes_on_with_the_same_measures(tmp_path, rng):
    labels, _ = cases.padded_batch(rng)
    model = small_model()
    model.fit(labels, labels, verbose=0)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert isinstance(again.loss, MaskedCrossentropy)
    assert again.loss.get_config() == model.loss.get_config()
    assert float(again.optimizer.learning_rate) == float(
        model.optimizer.learning_rate
    )
    for other in (model, again):
        other.fit(labels, labels, verbose=0)
    measures = model.evaluate(labels, labels, verbose=0, return_dict=True)
    assert measures.keys() == {"loss", "masked_accuracy", "perplexity"}
    assert measures == pytest.approx(
        again.evaluate(labels, labels, verbose=0, return_dict=True), rel=1e-6
    )


TWO_REPLICAS = """
import numpy as np
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
one = tf.config.LogicalDeviceConfiguration()
tf.config.set_logical_device_configuration(cpu, [one, one])
import keras
from keras_attn.training.losses.masked_crossentropy import MaskedCrossentropy
from keras_attn.training.metrics.perplexity import Perplexity

with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    model = keras.Sequential(
        [
            keras.Input((4,), dtype="int32"),
            keras.layers.Embedding(5, 5, embeddings_initializer="zeros"),
        ]
    )
    model.compile(
        keras.optimizers.SGD(1.0),
        loss=MaskedCrossentropy(),
        metrics=[Perplexity()],
        jit_compile=False,
    )
table = np.random.default_rng(0).normal(size=(5, 5)).astype("float32")
model.set_weights([table])
labels = np.array([[1, 2, 3, 4], [3, 0, 0, 0]])
inputs = np.array([[4, 3, 2, 1], [1, 0, 2, 3]])
history = model.fit(inputs, labels, batch_size=2, verbose=0).history

z = table.astype("float64")
log_p = z - np.log(np.exp(z).sum(-1, keepdims=True))
losses = [-log_p[4, 1], -log_p[3, 2], -log_p[2, 3], -log_p[1, 4]]
alone = -log_p[1, 3]
close = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
close(history["loss"][0], (np.mean(losses) + alone) / 2)
close(history["perplexity"][0], np.exp((np.sum(losses) + alone) / 5))
target = np.eye(5)
slopes = np.exp(log_p)
expected = table.copy()
expected[4] -= (slopes[4] - target[1]) / 8
expected[3] -= (slopes[3] - target[2]) / 8
expected[2] -= (slopes[2] - target[3]) / 8
expected[1] -= (slopes[1] - target[4]) / 8 + (slopes[1] - target[3]) / 2
close(model.get_weights()[0], expected)
print("as promised")
"""


@pytest.mark.slow
def test_replicas_count_alike_and_perplexity_counts_labels():
    # The devices of a process cannot be split once it has used them.
    answer = subprocess.run(
        [sys.executable, "-c", TWO_REPLICAS],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
    )
    assert "as promised" in answer.stdout, answer.stderr
