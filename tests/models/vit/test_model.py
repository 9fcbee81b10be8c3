import keras
import numpy as np
import pytest

from keras_attn.models.vit.model import ViT
from keras_attn.ops.positions import resize_grid
from tests.contract import check_model
from tests.models.stepping import set_random

SIZE = (4, 6)
CLASSES = 5
SIZES = {
    "image_size": list(SIZE),
    "patch_size": 2,
    "num_layers": 2,
    "num_heads": 2,
    "units": 8,
    "hidden_dim": 7,
}
KINDS = {
    "token": {},
    "distilled": {"num_class_tokens": 2, "layer_scale": 0.5},
    "one_head": {"num_class_tokens": 2, "distillation_head": False},
    "mean": {"pooling": "mean", "position": "sine"},
    "attention": {"pooling": "attention", "num_class_tokens": 1},
    "small_data": {
        "shifted_patches": True,
        "class_position": False,
        "attention": {"modifiers": ["locality"]},
    },
}


def make(rng, **options):
    model = ViT(**{**SIZES, "num_classes": CLASSES, **options})
    set_random(model, rng)
    return model


def make_stem(*shape, name="stem"):
    return keras.Sequential(
        [
            keras.Input(shape),
            keras.layers.Conv2D(5, 2, strides=2, use_bias=False),
            keras.layers.BatchNormalization(),
        ],
        name=name,
    )


@pytest.fixture
def images(rng):
    return rng.normal(size=(3, *SIZE, 3)).astype("float32")


@pytest.mark.parametrize(
    "kind",
    [
        "token",
        *(pytest.param(x, marks=pytest.mark.slow) for x in list(KINDS)[1:]),
    ],
)
def test_contract(kind, images, tmp_path):
    check_model(
        ViT,
        {
            **SIZES,
            "num_layers": 1,
            "num_classes": CLASSES,
            "dropout": 0.1,
            **KINDS[kind],
        },
        images,
        tmp_path=tmp_path,
        padded=(),  # images have none
        powerless=["key/bias"],
        output_dtype="float32",
    )


def test_matches_the_equation_at_both_ends(images, rng):
    model = make(rng, epsilon=0.125)
    kernel, bias = model.embedding.patch_embedding.projection.get_weights()
    patches = images.reshape(3, 2, 2, 3, 6).swapaxes(2, 3).reshape(3, 6, 12)
    tokens = np.tile(model.embedding.class_token.embeddings, (3, 1, 1))
    x = np.concatenate([tokens, patches @ kernel + bias], axis=1)
    x += np.array(model.embedding.position_embedding.embeddings)
    for block in model.encoder.blocks:
        assert block.norm == "pre"
        x = block(x)
    x = np.array(model.encoder.last_norm(x))
    assert model.encoder.last_norm.epsilon == 0.125
    kernel, bias = model.head.class_dense.get_weights()
    expected = x[:, 0] @ kernel + bias
    np.testing.assert_allclose(model(images), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_parts_make_the_whole(kind, images, rng):
    model = make(rng, **KINDS[kind])
    tokens, weights = model.tokens(images, return_attention_scores=True)
    count = 6 + model.num_class_tokens
    assert model.grid == (2, 3)
    assert tokens.shape == (3, count, 8)
    assert [tuple(x.shape) for x in weights] == [(3, 2, count, count)] * 2
    for each in weights:
        np.testing.assert_allclose(np.sum(each, -1), 1, atol=1e-5)
    logits = model(images)
    assert logits.shape == (3, CLASSES)
    near = {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(model.tokens(images), tokens, **near)
    np.testing.assert_allclose(model.classify(tokens), logits, **near)
    heads = list(model.each_head(tokens).values())
    np.testing.assert_allclose(np.mean(heads, axis=0), logits, **near)
    assert model.pool(tokens).shape == (3, 8)


def test_the_weights_are_those_of_the_blocks(images, rng):
    model = make(rng)
    _, weights = model.tokens(images, return_attention_scores=True)
    x = model.embedding(images)
    for block, found in zip(model.encoder.blocks, weights, strict=True):
        x, own = block(x, return_attention_scores=True)
        np.testing.assert_allclose(found, own, atol=1e-6)


def test_without_classes_it_returns_what_they_are_read_from(images, rng):
    model = make(rng, num_classes=None)
    tokens = model.tokens(images)
    np.testing.assert_allclose(model(images), tokens[:, 0], atol=1e-6)


def test_without_pooling_it_returns_all_tokens(images, rng):
    model = make(rng, num_classes=None, pooling=None)
    assert model.output_shape == (None, 6, 8)
    np.testing.assert_allclose(model(images), model.tokens(images), atol=1e-6)
    for method in (model.pool, model.classify, model.each_head):
        with pytest.raises(ValueError, match="made with pooling=None"):
            method(model(images))


def test_the_image_may_go_through_a_stem(images, rng, tmp_path):
    stem = make_stem(None, None, 3)
    model = make(rng, stem=stem, patch_size=1)
    assert model.grid == (2, 3)
    grid = stem(images, training=False)
    x = model.encoder(model.embedding(grid))
    np.testing.assert_allclose(model.tokens(images), x, atol=1e-5)
    logits = model(images)
    np.testing.assert_allclose(logits, model.head(x), atol=1e-5)
    model.save(tmp_path / "hybrid.keras")
    loaded = keras.saving.load_model(tmp_path / "hybrid.keras")
    np.testing.assert_allclose(loaded(images), logits, atol=1e-5)


@pytest.mark.parametrize("frozen", [True, False])
def test_a_frozen_stem_keeps_its_statistics(frozen, images, rng):
    stem = make_stem(*SIZE, 3)
    stem.trainable = not frozen
    model = make(rng, stem=stem, patch_size=1)
    before = [np.array(x) for x in stem.weights]
    model.compile("sgd", "sparse_categorical_crossentropy", run_eagerly=True)
    model.train_on_batch(images, np.array([0, 1, 2]))
    same = [
        np.array_equal(one, two)
        for one, two in zip(before, stem.weights, strict=True)
    ]
    assert all(same) if frozen else not any(same)


@pytest.mark.slow
def test_learns_to_tell_images_apart(rng):
    labels = np.arange(40) % 2
    images = 0.5 * rng.normal(size=(40, *SIZE, 3)).astype("float32")
    images[labels == 1, :2, :2] += 1.0
    model = ViT(**SIZES, num_classes=2, dropout=0.1, stochastic_depth=0.2)
    model.compile(
        keras.optimizers.Adam(0.01),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        jit_compile=False,
    )
    model.fit(images, labels, epochs=8, batch_size=20, verbose=0)
    assert model.evaluate(images, labels, verbose=0)[1] > 0.9


def test_a_model_of_the_same_size_is_the_same(images, rng):
    model = make(rng, **KINDS["distilled"])
    twin = model.resized(SIZE, dropout=0.5)
    assert twin.get_config()["dropout"] == 0.5
    np.testing.assert_allclose(twin(images), model(images), rtol=1e-5)


@pytest.mark.parametrize("kind", ["token", "mean", "small_data"])
def test_a_model_for_other_images_has_the_same_weights(kind, images, rng):
    model = make(rng, **KINDS[kind])
    larger = model.resized((6, 10))
    assert larger.grid == (3, 5)
    for path in ("encoder", "head"):
        pairs = zip(
            getattr(larger, path).get_weights(),
            getattr(model, path).get_weights(),
            strict=True,
        )
        for one, two in pairs:
            np.testing.assert_array_equal(one, two)
    if model.embedding.position == "learned":
        first = model.embedding.num_prefix_tokens
        np.testing.assert_allclose(
            larger.embedding.position_embedding.embeddings,
            resize_grid(
                model.embedding.position_embedding.embeddings,
                (2, 3),
                (3, 5),
                first,
            ),
        )
    assert larger(np.ones((2, 6, 10, 3), "float32")).shape == (2, CLASSES)


def test_resizing_may_give_it_another_head(images, rng):
    model = make(rng)
    other = model.resized(SIZE, num_classes=2, pooling="mean")
    assert other(images).shape == (3, 2)
    np.testing.assert_allclose(
        other.tokens(images), model.tokens(images), atol=1e-5
    )


def test_a_stem_for_any_size_goes_along(rng):
    model = make(rng, stem=make_stem(None, None, 3), patch_size=1)
    larger = model.resized((8, 6))
    assert larger.grid == (4, 3)
    for one, two in zip(larger.stem.weights, model.stem.weights, strict=True):
        np.testing.assert_array_equal(one, two)
    assert larger.stem is not model.stem
    fixed = make(rng, stem=make_stem(*SIZE, 3), patch_size=1)
    with pytest.raises(ValueError, match="let height and width be None"):
        fixed.resized((8, 6))


def test_a_quantised_model_is_not_resized(rng):
    model = make(rng)
    model.head.class_dense.quantize("int8")
    with pytest.raises(ValueError, match="Call `resized` first"):
        model.resized(8)


@pytest.mark.parametrize(
    ("shape", "received"),
    [
        ((3, 6, 4, 3), r"\(3, 6, 4, 3\)"),
        ((3, 2, 6, 3), r"\(3, 2, 6, 3\)"),
        ((3, 4, 6, 1), r"\(3, 4, 6, 1\)"),
        ((4, 6, 3), r"\(4, 6, 3\)"),
    ],
    ids=["turned", "smaller", "gray", "one"],
)
@pytest.mark.parametrize("method", ["__call__", "tokens", "predict"])
def test_other_images_are_refused(method, shape, received, rng):
    model = make(rng, num_layers=1)
    with pytest.raises(
        ValueError, match=rf"\(4, 6, 3\).*Received: {received}.*resized"
    ):
        options = {"verbose": 0} if method == "predict" else {}
        getattr(model, method)(np.zeros(shape, "float32"), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"patch_size": 4}, r"patch_size=\(4, 4\), image_size=\(4, 6\)"),
        ({"image_size": 0}, "`image_size` must be an integer"),
        ({"pooling": "max"}, "`pooling` must be one of"),
        ({"pooling": None}, "needs `pooling`"),
        ({"pooling": "token", "num_class_tokens": 0}, "num_class_tokens=0"),
        ({"num_layers": 0}, "`num_layers` must be at least 1"),
        ({"num_heads": 3}, "num_heads=3, features=8"),
        ({"stochastic_depth": [0.1]}, "one for each of the 2 layers"),
    ],
)
def test_refuses_to_be_made(options, message):
    with pytest.raises(ValueError, match=message):
        ViT(**{**SIZES, "num_classes": CLASSES, **options})


def test_kernels_may_start_larger_than_in_the_papers():
    options = dict(patch_size=2, num_layers=1, num_heads=2, units=32)
    papers = ViT(4, num_classes=5, **options)
    larger = ViT(4, num_classes=5, kernel_initializer="he_normal", **options)
    again = ViT.from_config(larger.get_config())
    for model, is_larger in ((papers, False), (larger, True), (again, True)):
        for weight in model.weights:
            if weight.path.endswith("kernel"):
                assert (np.std(weight) > 0.03) == is_larger, weight.path
        assert np.std(model.embedding.class_token.embeddings) < 0.03
