import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.attention.location_sensitive import LocationSensitiveAttention
from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.models.rnn_captioner.model import RNNCaptioner
from keras_attn.training import MaskedCrossentropy
from tests.contract import check_model
from tests.models import captioners
from tests.models.captioners import SHAPE
from tests.models.captioners import VOCABULARY
from tests.models.stepping import set_random
from tests.models.stepping import step_through

GRID = (2, 3)
SIZES = {"units": 5, "embedding_dim": 4, "image_shape": SHAPE}
KINDS = {
    "attend": {},
    "heads": {"attention": MultiHeadAttention(2, 3), "cell": "gru"},
    "location": {"attention": LocationSensitiveAttention(3, kernel_size=3)},
    "mean": {"attention": None},
    "state": {"attention": None, "context": "state", "cell": "simple"},
}


def make(rng, **options):
    model = RNNCaptioner(VOCABULARY, **{**SIZES, **options})
    set_random(model, rng)
    return model


@pytest.fixture
def batch(rng):
    return captioners.make_batch(rng)


@pytest.mark.slow
def test_contract(batch, tmp_path):
    check_model(
        RNNCaptioner,
        {
            **SIZES,
            "vocabulary_size": VOCABULARY,
            "dropout": 0.1,
            "state_dropout": 0.2,
        },
        batch,
        tmp_path=tmp_path,
        padded=("target",),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_steps_equal_the_forward_pass(kind, batch, rng):
    model = make(rng, **KINDS[kind])
    full = model(batch)
    assert full.shape == (3, 6, VOCABULARY)
    real = batch["target"] != 0
    np.testing.assert_array_equal(full._keras_mask, real)
    state = model.encode(batch["image"], 6)
    logits, state = step_through(model, state, batch["target"])
    np.testing.assert_allclose(logits[real], full[real], rtol=1e-4, atol=1e-5)
    forced = model.teacher_forced({"image": batch["image"]}, batch["target"])
    np.testing.assert_allclose(logits, forced, rtol=1e-4, atol=1e-5)
    assert {leaf.shape[0] for leaf in keras.tree.flatten(state)} == {3}


@pytest.mark.parametrize("kind", ["attend", "heads"])
def test_the_alignment_says_where_each_word_looked(kind, batch, rng):
    model = make(rng, **KINDS[kind])
    found = model.alignment(batch["image"], batch["target"])
    assert found.shape == (3, 6, *GRID) and found.dtype == "float32"
    np.testing.assert_allclose(np.sum(found, axis=(2, 3)), 1, atol=1e-5)
    state = model.encode(batch["image"], 6)
    for position in range(6):
        x = model.embedding(batch["target"][:, position])
        outputs, states = model.decoder.step(x, *state)
        state = state._replace(carried=states)
        weights = np.reshape(outputs["weights"], (3, -1, *GRID)).mean(axis=1)
        np.testing.assert_allclose(found[:, position], weights, atol=1e-6)


def test_a_model_without_attention_has_no_alignment(rng):
    assert make(rng, attention=None).alignment is None


@pytest.mark.parametrize(
    "search",
    [
        "greedy",
        pytest.param("sample", marks=pytest.mark.slow),
        pytest.param("beam", marks=pytest.mark.slow),
    ],
)
def test_every_search_writes_captions(search, batch, rng):
    captioners.check_search(make(rng), batch["image"], search)


@pytest.mark.parametrize(
    "frozen", [True, pytest.param(False, marks=pytest.mark.slow)]
)
def test_a_frozen_encoder_stays_as_it_is(frozen, batch, tmp_path):
    encoder = captioners.batch_norm_cnn()
    encoder.trainable = not frozen
    model = RNNCaptioner(VOCABULARY, units=5, encoder=encoder)
    captioners.check_frozen(model, encoder, batch)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert bool(loaded.encoder.trainable_weights) == (not frozen)


@pytest.mark.slow
def test_an_image_model_of_keras_is_an_encoder(rng):
    captioners.check_image_model(
        lambda cnn: RNNCaptioner(VOCABULARY, units=5, encoder=cnn), rng
    )


def test_the_regulariser_is_part_of_the_loss(batch):
    model = RNNCaptioner(VOCABULARY, **SIZES, doubly_stochastic=0.5)
    model.compile("sgd", MaskedCrossentropy(), jit_compile=False)
    loss = model.evaluate(batch, batch["target"], verbose=0)
    logits = model(batch)
    entropy = MaskedCrossentropy()(batch["target"], logits)
    (penalty,) = model.losses
    assert float(penalty) > 0
    np.testing.assert_allclose(loss, entropy + penalty, rtol=1e-5)


def test_ragged_targets_are_as_padded_ones(batch, rng):
    model = make(rng)
    ragged = tf.RaggedTensor.from_tensor(batch["target"], padding=0)
    found = model({"image": tf.constant(batch["image"]), "target": ragged})
    np.testing.assert_allclose(found, model(batch), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"image_shape": None}, "Give `encoder`, or the `image_shape`"),
        ({"encoder": captioners.batch_norm_cnn()}, "Give `encoder`, or"),
        (
            {"image_shape": None, "encoder": keras.layers.Conv2D(3, 2)},
            "must be a functional model",
        ),
        (
            {
                "image_shape": None,
                "encoder": keras.Sequential(
                    [keras.Input(SHAPE), keras.layers.Flatten()]
                ),
            },
            r"include_top=False.*output \(None, 1152\)",
        ),
        ({"attention": "luong"}, '`attention` must be "additive"'),
        ({"attention": keras.layers.Dense(3)}, "attention"),
        ({"context": "state"}, "enters every step"),
        ({"cell": "elman"}, "`cell` must be one of"),
        ({"attention": None, "state_dropout": 0.1}, "can look again"),
    ],
)
def test_what_cannot_be_made_is_refused(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        RNNCaptioner(VOCABULARY, **{**SIZES, **options})
