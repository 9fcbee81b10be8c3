import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.models.vilbert.model import ViLBERT
from keras_attn.models.vilbert.patch_regions import grid_boxes
from keras_attn.training import MaskedCrossentropy
from keras_attn.training import MaskedDivergence
from tests.contract import check_model
from tests.models.stepping import set_random

SIZES = {
    "num_layers": 2,
    "num_heads": 2,
    "units": 4,
    "hidden_dim": 5,
    "num_region_layers": 1,
    "num_region_heads": 3,
    "region_units": 6,
    "region_hidden_dim": 7,
    "num_co_heads": 2,
    "co_units": 8,
    "max_length": 12,
}
LENGTH, REGIONS, FEATURES, CLASSES, REGION_CLASSES = 5, 3, 9, 4, 10
SHAPES = {
    "masked_lm": (2, LENGTH, 11),
    "masked_regions": (2, REGIONS, REGION_CLASSES),
    "alignment": (2, 2),
    "pretraining": {
        "masked_lm": (2, LENGTH, 11),
        "masked_regions": (2, REGIONS, REGION_CLASSES),
        "alignment": (2, 2),
    },
    "vqa": (2, CLASSES),
    "retrieval": (2, 1),
    "referring": (2, REGIONS, 1),
    None: {
        "text": (2, LENGTH, 4),
        "regions": (2, 1 + REGIONS, 6),
        "pooled_text": (2, 8),
        "pooled_regions": (2, 8),
    },
}


def settings(head):
    given = {**SIZES, "region_features": FEATURES, "head": head}
    given["num_region_classes"] = REGION_CLASSES
    if head == "vqa":
        given["num_classes"] = CLASSES
    return given


def make(rng, head=None, **options):
    model = ViLBERT(11, **{**settings(head), "dropout": 0.0, **options})
    set_random(model, rng)
    return model


@pytest.fixture
def batch(rng):
    corners = rng.uniform(0, 0.5, size=(2, REGIONS, 2))
    sides = rng.uniform(0.1, 0.5, size=(2, REGIONS, 2))
    boxes = np.concatenate([corners, corners + sides], axis=-1)
    return {
        "tokens": rng.integers(1, 11, size=(2, LENGTH)),
        "segments": np.array([[0, 0, 1, 1, 1], [0, 0, 0, 0, 1]]),
        "features": rng.normal(size=(2, REGIONS, FEATURES)).astype("float32"),
        "boxes": boxes.astype("float32"),
    }


def shapes(outputs):
    return keras.tree.map_structure(lambda x: tuple(x.shape), outputs)


def padded(batch, words=3, regions=2):
    """Texts with more tokens, and images with more regions, all padding."""
    return {
        name: np.pad(
            x,
            [(0, 0), (0, words if x.ndim == 2 else regions)]
            + [(0, 0)] * (x.ndim - 2),
        )
        for name, x in batch.items()
    }


@pytest.mark.parametrize(
    "head", ["pretraining", pytest.param("vqa", marks=pytest.mark.slow)]
)
def test_contract(head, batch, tmp_path):
    init = {**settings(head), "vocabulary_size": 11, "dropout": 0.1}
    check_model(
        ViLBERT,
        {**init, "num_layers": 1},
        batch,
        tmp_path=tmp_path,
        padded=("tokens", "segments", "features", "boxes"),
        powerless=["key/bias"],
    )


@pytest.mark.parametrize("head", SHAPES)
def test_each_head_has_its_shape_and_padding_changes_nothing(head, batch, rng):
    model = make(rng, head)
    outputs = model(batch)
    assert shapes(outputs) == SHAPES[head]
    longer = model(padded(batch))
    for one, two in zip(
        keras.tree.flatten(longer), keras.tree.flatten(outputs), strict=True
    ):
        if len(two.shape) == 3:  # of tokens or regions
            real = np.zeros(one.shape[:2], "bool")
            real[:, : two.shape[1]] = True
            np.testing.assert_array_equal(one._keras_mask, real)
            one = one[:, : two.shape[1]]
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)


def test_matches_the_equation_at_both_ends(batch, rng):
    model = make(rng)
    x = model.text_embedding(
        model.embedding(batch["tokens"]), batch["segments"]
    )
    y = model.region_embedding(batch["features"], batch["boxes"])
    streams = model.streams
    x = streams.text_blocks[0](x)
    x, y = streams.co_blocks[0](x, y)
    x, y = streams.text_blocks[1](x), streams.region_blocks[0](y)
    outputs = model(batch)
    np.testing.assert_allclose(outputs["text"], x, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(outputs["regions"], y, rtol=1e-4, atol=1e-5)
    pooled = []
    for name, stream in (("text", x), ("region", y)):
        W, b = getattr(model, f"{name}_pooler").get_weights()
        pooled.append(np.maximum(stream.numpy()[:, 0] @ W + b, 0))
        plural = f"pooled_{name}" + "s" * (name == "region")
        np.testing.assert_allclose(
            outputs[plural], pooled[-1], rtol=1e-4, atol=1e-5
        )
    retrieval = make(rng, "retrieval")
    for part in ("embedding", "text_embedding", "region_embedding", "streams"):
        old, new = getattr(model, part), getattr(retrieval, part)
        new.set_weights(old.get_weights())
    for part in ("text_pooler", "region_pooler"):
        weights = getattr(model, part).get_weights()
        getattr(retrieval, part).set_weights(weights)
    W, b = retrieval.get_layer("retrieval").get_weights()
    np.testing.assert_allclose(
        retrieval(batch), pooled[0] * pooled[1] @ W + b, rtol=1e-4, atol=1e-4
    )


def test_reading_gives_the_weights_of_both_directions(batch, rng):
    model = make(rng)
    outputs = model(batch)
    text, regions, forth, back = model.read(batch, return_attention_scores=True)
    np.testing.assert_allclose(text, outputs["text"], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        regions, outputs["regions"], rtol=1e-4, atol=1e-5
    )
    assert [w.shape for w in forth] == [(2, 2, LENGTH, 1 + REGIONS)]
    assert [w.shape for w in back] == [(2, 2, 1 + REGIONS, LENGTH)]
    for weights in (*forth, *back):
        np.testing.assert_allclose(np.sum(weights, -1), 1, rtol=1e-5)


def test_each_stream_hears_of_the_other(batch, rng):
    model = make(rng)
    before = model(batch)
    for name, stream in (("tokens", "regions"), ("features", "text")):
        changed = {**batch, name: batch[name].copy()}
        changed[name][:, -1] = 1 + changed[name][:, -1] % 3
        after = model(changed)[stream]
        assert np.abs(after - before[stream]).max(axis=-1).min() > 1e-5


def test_where_a_region_stands_counts(batch, rng):
    model = make(rng, "referring")
    moved = {**batch, "boxes": batch["boxes"] + 0.1}
    assert np.abs(model(moved) - model(batch)).max() > 1e-3


def test_patches_are_regions_too(batch, rng):
    given = {"image_shape": (4, 6, 1), "patch_size": 2, "region_features": None}
    model = make(rng, "vqa", **given)
    assert model.grid == (2, 3)
    image = rng.random((2, 4, 6, 1)).astype("float32")
    inputs = {k: batch[k] for k in ("tokens", "segments")} | {"image": image}
    twin = make(rng, "vqa", region_features=4)
    twin.set_weights(model.get_weights())
    features, boxes = model.patches(image)
    np.testing.assert_array_equal(boxes[0], grid_boxes(2, 3))
    regions = {"features": features, "boxes": boxes}
    words = {k: tf.constant(batch[k]) for k in ("tokens", "segments")}
    expected = twin(words | regions)
    np.testing.assert_allclose(model(inputs), expected, rtol=1e-5, atol=1e-5)


def test_another_head_copies_the_weights_and_leaves_the_model_alone(batch, rng):
    old = make(rng, "pretraining")
    before = old.get_weights()
    new = old.with_head("vqa", num_classes=3, dropout=0.5)
    assert new(batch).shape == (2, 3)
    assert new.get_config()["dropout"] == 0.5
    assert new.name != old.name
    for part in ("embedding", "streams", "text_pooler", "region_pooler"):
        for one, two in zip(
            getattr(old, part).get_weights(),
            getattr(new, part).get_weights(),
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


# Where only regions are read, nothing reads the text's last layers.
@pytest.mark.filterwarnings("ignore:Gradients do not exist")
@pytest.mark.slow
@pytest.mark.parametrize(
    "head", ["pretraining", "vqa", "retrieval", "referring"]
)
def test_each_head_learns_from_a_batch(head, batch, rng):
    scores = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    yes_or_no = keras.losses.BinaryCrossentropy(from_logits=True)
    classes = rng.dirichlet(np.ones(REGION_CLASSES), size=(2, REGIONS))
    labels, loss = {
        "pretraining": (
            {
                "masked_lm": batch["tokens"],
                "masked_regions": classes,
                "alignment": np.array([0, 1]),
            },
            {
                "masked_lm": MaskedCrossentropy(),
                "masked_regions": MaskedDivergence(),
                "alignment": scores,
            },
        ),
        "vqa": (np.array([2, 1]), scores),
        "retrieval": (np.array([[0.0], [1.0]]), yes_or_no),
        "referring": (np.eye(3)[[[0], [2]]].swapaxes(1, 2), yes_or_no),
    }[head]
    model = make(rng, head, num_layers=1)
    model.compile(keras.optimizers.Adam(0.02), loss, jit_compile=False)
    history = model.fit(batch, labels, epochs=15, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]


def test_ragged_texts_are_filled_up(batch, rng):
    model = make(rng, "vqa")
    rows = [batch["tokens"][0], batch["tokens"][1, :3]]
    dense = {**batch, "tokens": batch["tokens"].copy()}
    dense["tokens"][1, 3:] = 0
    dense["segments"] = np.zeros_like(batch["segments"])
    ragged = {name: tf.constant(x) for name, x in dense.items()}
    ragged["tokens"] = tf.ragged.constant([row.tolist() for row in rows])
    np.testing.assert_allclose(model(ragged), model(dense), atol=1e-6)


def test_kernels_may_start_larger_than_in_the_paper():
    given = settings("vqa") | {"kernel_initializer": "he_normal"}
    larger = ViLBERT(11, **given)
    again = larger.with_head("pretraining")
    papers = ViLBERT(11, **settings("vqa"))
    for model, is_larger in ((papers, False), (larger, True), (again, True)):
        for weight in model.weights:
            if weight.path.endswith("kernel"):
                assert (np.std(weight) > 0.06) == is_larger, weight.path
        assert np.std(model.embedding.embeddings) < 0.06


def test_heads_and_classes_that_do_not_go_together_are_refused():
    given = {**SIZES, "region_features": FEATURES}
    with pytest.raises(ValueError, match=r"`head` must be one of.*'nlvr'"):
        ViLBERT(11, **given, head="nlvr")
    with pytest.raises(ValueError, match="needs `num_classes`"):
        ViLBERT(11, **given, head="vqa")
    with pytest.raises(ValueError, match="needs `num_region_classes`"):
        ViLBERT(11, **given, head="pretraining")
    with pytest.raises(ValueError, match="Regions are features and boxes"):
        ViLBERT(11, **SIZES)
    with pytest.raises(ValueError, match="`num_co_heads` must divide"):
        ViLBERT(11, **{**given, "num_co_heads": 3})
    with pytest.raises(ValueError, match="`co_attention_at` must be pairs"):
        ViLBERT(11, **given, co_attention_at=((3, 0),))
