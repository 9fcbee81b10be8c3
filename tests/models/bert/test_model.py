import keras
import numpy as np
import pytest

from keras_attn.models.bert.model import BERT
from keras_attn.training import MaskedCrossentropy
from tests.contract import check_model
from tests.models.stepping import set_random

SIZES = {"num_layers": 2, "num_heads": 2, "units": 4, "hidden_dim": 5}
LENGTH = 6
CLASSES = 3
SHAPES = {
    "masked_lm": (2, LENGTH, 11),
    "next_sentence": (2, 2),
    "pretraining": {"masked_lm": (2, LENGTH, 11), "next_sentence": (2, 2)},
    "classification": (2, CLASSES),
    "regression": (2, 1),
    "token_classification": (2, LENGTH, CLASSES),
    "span": {"start": (2, LENGTH), "end": (2, LENGTH)},
    None: {"sequence": (2, LENGTH, 4), "pooled": (2, 4)},
}


def make(rng, head=None, **options):
    if "classification" in str(head):
        options["num_classes"] = CLASSES
    options = {**SIZES, "dropout": 0.0, "max_length": 12, **options}
    model = BERT(11, head=head, **options)
    set_random(model, rng)
    return model


@pytest.fixture
def batch(rng):
    tokens = rng.integers(1, 11, size=(2, LENGTH))
    segments = np.array([[0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1]])
    return {"tokens": tokens, "segments": segments}


@pytest.mark.parametrize(
    ("head", "options"),
    [
        ("pretraining", {}),
        ("classification", {}),
        ("regression", {"num_segments": 0, "pooler_activation": "relu"}),
        (None, {"num_segments": 0, "pooler_activation": None}),
    ],
    ids=["pretraining", "classification", "no_segments", "no_pooler"],
)
def test_contract(head, options, batch, tmp_path):
    classes = CLASSES if head == "classification" else None
    init = {**SIZES, "num_layers": 1, "vocabulary_size": 11, "dropout": 0.1}
    check_model(
        BERT,
        {**init, **options, "head": head, "num_classes": classes},
        batch,
        tmp_path=tmp_path,
        padded=("tokens", "segments"),
        powerless=["key/bias"],
    )


@pytest.mark.parametrize("head", SHAPES)
def test_each_head_has_its_shape(head, batch, rng):
    outputs = make(rng, head)(batch)
    if isinstance(outputs, dict):
        shapes = {name: tuple(x.shape) for name, x in outputs.items()}
    else:
        shapes = tuple(outputs.shape)
    assert shapes == SHAPES[head]


@pytest.mark.parametrize("head", SHAPES)
@pytest.mark.parametrize("pad_id", [0, 10])
def test_padding_changes_nothing_at_real_positions(head, pad_id, batch, rng):
    model = make(rng, head, pad_id=pad_id)
    batch["tokens"] = np.where(batch["tokens"] == 10, 5, batch["tokens"])
    padded = {
        "tokens": np.pad(
            batch["tokens"], ((0, 0), (0, 3)), constant_values=pad_id
        ),
        "segments": np.pad(batch["segments"], ((0, 0), (0, 3))),
    }
    for one, two in zip(
        keras.tree.flatten(model(padded)),
        keras.tree.flatten(model(batch)),
        strict=True,
    ):
        if head == "span":
            # Padding takes no part in a softmax over positions.
            one, two = keras.ops.softmax(one), keras.ops.softmax(two)
            assert not np.any(one[:, LENGTH:])
            one = one[:, :LENGTH]
        elif one.shape[1] == LENGTH + 3:
            mask = padded["tokens"] != pad_id
            np.testing.assert_array_equal(one._keras_mask, mask)
            one = one[:, :LENGTH]
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-5)


def test_without_a_pad_id_nothing_is_masked(batch, rng):
    model = make(rng, pad_id=None)
    assert getattr(model(batch)["sequence"], "_keras_mask", None) is None


def test_every_token_sees_all_and_segments_count(batch, rng):
    model = make(rng)
    sequence = model(batch)["sequence"]
    for name in ("tokens", "segments"):
        changed = {**batch, name: batch[name].copy()}
        changed[name][:, -1] = (changed[name][:, -1] + 1) % 2 + (name[0] == "t")
        other = model(changed)["sequence"]
        moved = np.any(sequence != other, axis=-1)
        assert moved[np.any(changed[name] != batch[name], axis=1)].all()


def test_matches_the_equation_at_both_ends(batch, rng):
    model = make(rng, epsilon=0.125)
    tables = (
        model.embedding.embeddings.numpy()[batch["tokens"]],
        model.encoder.position_embedding.embeddings.numpy()[None, :LENGTH],
        model.segment_embedding.embeddings.numpy()[batch["segments"]],
    )
    x = model.encoder.first_norm(sum(tables))
    assert model.encoder.first_norm.epsilon == 0.125
    for block in model.encoder.blocks:
        x = block(x)
    outputs = model(batch)
    np.testing.assert_allclose(outputs["sequence"], x, rtol=1e-4, atol=1e-5)
    W, b = (weight.numpy() for weight in model.pooler.weights)
    np.testing.assert_allclose(
        outputs["pooled"],
        np.tanh(x.numpy()[:, 0] @ W + b),
        rtol=1e-4,
        atol=1e-5,
    )


def test_without_segments_they_are_not_read(batch, rng):
    model = make(rng, num_segments=0)
    assert model.segment_embedding is None
    others = {**batch, "segments": 1 - batch["segments"]}
    np.testing.assert_array_equal(
        model(batch)["sequence"], model(others)["sequence"]
    )
    with pytest.raises(ValueError, match="`num_segments`"):
        make(rng, num_segments=-1)


def test_the_pooler_has_its_activation_or_is_not_there(batch, rng):
    model = make(rng, pooler_activation="relu")
    outputs = model(batch)
    W, b = (weight.numpy() for weight in model.pooler.weights)
    first = outputs["sequence"].numpy()[:, 0]
    np.testing.assert_allclose(
        outputs["pooled"], np.maximum(first @ W + b, 0), atol=1e-5
    )
    model = make(rng, pooler_activation=None)
    assert model.pooler is None
    outputs = model(batch)
    np.testing.assert_array_equal(outputs["pooled"], outputs["sequence"][:, 0])


def test_another_head_copies_the_weights_and_leaves_the_model_alone(batch, rng):
    old = make(rng, "masked_lm")
    before = old.get_weights()
    new = old.with_head("classification", num_classes=5, dropout=0.5)
    assert new(batch).shape == (2, 5)
    assert new.get_config()["dropout"] == 0.5
    assert new.name != old.name
    # With the same encoder, and for a head that was there the same pooler.
    for one, two in zip(
        old.encoder.get_weights() + old.segment_embedding.get_weights(),
        new.encoder.get_weights() + new.segment_embedding.get_weights(),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two)
    new.compile(
        "sgd",
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=False,
    )
    new.fit(batch, np.array([1, 2]), verbose=0)
    for one, two in zip(before, old.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)
    bare = new.with_head(None)
    np.testing.assert_array_equal(
        bare.pooler.get_weights()[0], new.pooler.get_weights()[0]
    )


@pytest.mark.parametrize(
    "head",
    [
        "pretraining",
        "classification",
        "span",
        pytest.param("regression", marks=pytest.mark.slow),
        pytest.param("token_classification", marks=pytest.mark.slow),
    ],
)
def test_each_head_learns_from_a_batch(head, batch, rng):
    scores = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    labels, loss = {
        "pretraining": (
            {"masked_lm": batch["tokens"], "next_sentence": np.array([0, 1])},
            {"masked_lm": MaskedCrossentropy(), "next_sentence": scores},
        ),
        "classification": (np.array([2, 1]), scores),
        "regression": (np.array([[0.5], [-1.0]]), "mse"),
        "token_classification": (
            batch["tokens"] % CLASSES,
            MaskedCrossentropy(pad_id=None),
        ),
        "span": (
            {"start": np.array([1, 3]), "end": np.array([4, 3])},
            {"start": scores, "end": scores},
        ),
    }[head]
    model = make(rng, head, num_layers=1)
    model.compile(keras.optimizers.Adam(0.02), loss, jit_compile=False)
    history = model.fit(batch, labels, epochs=15, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]


@pytest.mark.parametrize("head", SHAPES)
def test_half_precision_and_saving(head, batch, rng, tmp_path):
    attention = {"modifiers": ["relative_bias"], "num_kv_heads": 1}
    model = make(
        rng,
        head,
        num_layers=1,
        dtype="mixed_float16",
        norm="pre",
        attention=attention,
    )
    model.save(tmp_path / "bert.keras")
    loaded = keras.saving.load_model(tmp_path / "bert.keras")
    assert loaded.get_config() == model.get_config()
    for one, two in zip(
        keras.tree.flatten(loaded(batch)),
        keras.tree.flatten(model(batch)),
        strict=True,
    ):
        assert one.dtype == "float16"
        assert np.isfinite(one).all()
        np.testing.assert_array_equal(one, two)


def test_heads_and_classes_that_do_not_go_together_are_refused():
    with pytest.raises(ValueError, match=r"`head` must be one of.*'mlm'"):
        BERT(11, **SIZES, head="mlm")
    for num_classes in (None, 0):
        with pytest.raises(ValueError, match=r"needs `num_classes`"):
            BERT(11, **SIZES, head="classification", num_classes=num_classes)
    with pytest.raises(
        ValueError, match=r"'regression' takes no `num_classes`"
    ):
        BERT(11, **SIZES, head="regression", num_classes=2)


def test_sentences_of_a_pair_see_each_other(batch, rng):
    """Its segments tell sentences apart; those of packed documents mask."""
    model = make(rng)
    tokens = np.array([[5, 6, 7, 8]])
    inputs = {"tokens": tokens, "segments": np.array([[0, 0, 1, 1]])}
    other = {**inputs, "tokens": np.array([[5, 6, 7, 9]])}
    before = model(inputs)["sequence"]
    after = model(other)["sequence"]
    assert np.abs(after - before).max(axis=-1).min() > 1e-4
