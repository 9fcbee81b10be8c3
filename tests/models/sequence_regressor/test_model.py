import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn import data
from keras_attn.models.sequence_regressor.model import POOLING
from keras_attn.models.sequence_regressor.model import PROCESSING
from keras_attn.models.sequence_regressor.model import SequenceRegressor
from tests.contract import check_model
from tests.models import recurrent_equations
from tests.models.stepping import set_random

LENGTHS = np.array([5, 2, 4])
REAL = np.arange(5) < LENGTHS[:, None]
IDS = {"num_outputs": 2, "vocabulary_size": 11}
VECTORS = {"num_classes": 3, "num_features": 6}


def make(rng, **options):
    model = SequenceRegressor(units=8, **options)
    set_random(model, rng)
    return model


def vectors(rng, pad=0.0):
    x = rng.normal(size=(3, 5, 6))
    return np.where(REAL[..., None], x, pad).astype("float32")


@pytest.mark.parametrize(
    "options",
    [
        {"processing": "convolution", "pooling": "attention"},
        pytest.param({"processing": "recurrent"}, marks=pytest.mark.slow),
        pytest.param(
            {"processing": "attention", "return_sequences": True},
            marks=pytest.mark.slow,
        ),
    ],
    ids=lambda options: options["processing"],
)
def test_contract(options, rng, tmp_path):
    check_model(
        SequenceRegressor,
        {"units": 8, "dropout": 0.1, **IDS, **options},
        rng.integers(1, 11, size=(3, 5)),
        tmp_path=tmp_path,
        padded=("",),
        powerless=["key/bias"],
    )


# The others take ten seconds together.
QUICK = {
    *(("recurrent", "last"), ("convolution", "mean"), ("convolution", None)),
    ("attention", "attention"),
}


@pytest.mark.parametrize(
    ("processing", "pooling"),
    [
        pytest.param(*pair, marks=[] if pair in QUICK else pytest.mark.slow)
        for pair in itertools.product(PROCESSING, [*POOLING, None])
    ],
)
def test_a_row_is_read_as_if_it_were_alone(processing, pooling, rng):
    options = {"return_sequences": True} if pooling is None else {}
    options |= {"pooling": pooling or "mean", "processing": processing}
    model = make(rng, num_layers=2, **VECTORS, **options)
    x = vectors(rng, np.nan)
    output = model(x).numpy()
    for row, length in enumerate(LENGTHS):
        alone = model(x[row : row + 1, :length])[0]
        found = output[row] if pooling else output[row, :length]
        np.testing.assert_allclose(found, alone, rtol=1e-5, atol=1e-5)


def test_nan_in_padding_reaches_no_gradient(rng):
    for processing in PROCESSING:
        model = make(rng, processing=processing, **VECTORS)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(vectors(rng, np.nan)) ** 2)
        weights = [weight.value for weight in model.trainable_weights]
        for gradient in tape.gradient(loss, weights):
            assert np.isfinite(gradient).all()


@pytest.mark.parametrize("cell", ["gru", "simple"])
def test_matches_the_equations(cell, rng):
    model = make(
        rng,
        cell=cell,
        num_layers=2,
        pooling="last",
        **VECTORS,
        dtype="float64",
    )
    x = rng.normal(size=(3, 5, 6))
    by_name = {layer.name: layer for layer in model.layers}
    h = x
    for number in range(2):
        weights = by_name[f"recurrent_{number}"].weights
        weights = [np.array(weight) for weight in weights]
        h = recurrent_equations.run(cell, h, weights, [np.zeros((3, 8))])
    kernel, bias = (np.array(w) for w in by_name["logits"].weights)
    np.testing.assert_allclose(model(x), h[:, -1] @ kernel + bias, rtol=1e-10)


def test_ragged_ids_and_a_row_of_padding(rng):
    model = make(rng, **IDS, pooling="attention")
    rows = [[3, 4, 5], [], [6]]
    output = model(tf.ragged.constant(rows, dtype=tf.int32))
    for row in (0, 2):
        np.testing.assert_allclose(
            output[row], model(np.array([rows[row]]))[0], rtol=1e-5, atol=1e-5
        )
    np.testing.assert_allclose(output[1], model.layers[-1].bias, atol=1e-6)


def test_every_frame_of_a_film_has_an_answer(rng):
    encoder = keras.Sequential(
        [
            keras.Input((4, 5, 2)),
            keras.layers.Conv2D(3, 2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
        ]
    )
    model = make(
        rng, num_classes=7, frame_encoder=encoder, return_sequences=True
    )
    film = rng.normal(size=(2, 6, 4, 5, 2)).astype("float32")
    film[1, 3:] = np.nan
    logits = model(film)
    assert logits.shape == (2, 6, 7)
    np.testing.assert_array_equal(
        logits._keras_mask, np.arange(6) < np.array([[6], [3]])
    )
    np.testing.assert_allclose(
        logits[1, :3], model(film[1:, :3])[0], rtol=1e-5, atol=1e-5
    )
    again = SequenceRegressor.from_config(model.get_config())
    again.set_weights(model.get_weights())
    np.testing.assert_allclose(again(film[:, :3]), logits[:, :3], atol=1e-5)


@pytest.mark.slow
def test_learns_what_a_pipeline_brings(rng):
    # The target is the mean of the first feature over the real steps.
    sequences = [rng.normal(size=(n, 2)) for n in rng.integers(2, 7, size=64)]
    examples = tf.data.Dataset.from_generator(
        lambda: ({"sequence": x, "target": x[:, 0].mean()} for x in sequences),
        output_signature={
            "sequence": tf.TensorSpec([None, 2], tf.float32),
            "target": tf.TensorSpec([], tf.float32),
        },
    )
    task = data.sequence_regression(examples)
    ((x, y),) = data.batches(task, 64, lengths=6, seed=0)
    model = SequenceRegressor(
        num_outputs=1,
        units=8,
        processing="convolution",
        kernel_size=1,
        num_features=2,
    )
    model.compile(keras.optimizers.Adam(0.03), "mse", jit_compile=False)
    history = model.fit(x, y, batch_size=16, epochs=20, verbose=0).history
    assert history["loss"][-1] < 0.2 * history["loss"][0]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"processing": "lstm", **IDS}, "`processing` must be one of"),
        ({"pooling": "max", **IDS}, "`pooling` must be one of"),
        ({"num_layers": 0, **IDS}, "`num_layers` must be"),
        ({"cell": "LSTM", **IDS}, "`cell` must be one of"),
        ({"num_outputs": 1}, "Give one of vocabulary_size.*none of them"),
        ({**IDS, "num_features": 3}, "vocabulary_size, num_features"),
        ({"num_features": 3}, "Give one of num_outputs, num_classes"),
        ({**IDS, "num_classes": 3}, "num_outputs, num_classes"),
        ({"num_outputs": 0, "num_features": 3}, "`num_outputs` must be"),
        ({"num_outputs": 1, "num_features": 0}, "`num_features` must be"),
        ({**IDS, "processing": "attention", "num_heads": 3}, "num_heads"),
    ],
)
def test_what_makes_no_model_is_refused(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        SequenceRegressor(units=8, **options)
