import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.base.state import State
from keras_attn.decoding.scoring import score
from keras_attn.models.transformer_captioner.model import TransformerCaptioner
from keras_attn.models.vit.model import ViT
from tests.blocks import equations
from tests.contract import check_model
from tests.models import captioners
from tests.models.captioners import SHAPE
from tests.models.captioners import VOCABULARY
from tests.models.stepping import set_random
from tests.models.stepping import step_through


def vit(units, **options):
    """The config of an encoder, as wide as is asked for."""
    model = ViT(
        SHAPE[:2],
        patch_size=[8, 6],
        num_layers=1,
        num_heads=3 if units == 6 else 2,
        units=units,
        hidden_dim=7,
        dropout=0.0,
        **{"pooling": None, "num_class_tokens": 1, **options},
    )
    return keras.saving.serialize_keras_object(model)


SIZES = {"num_layers": 1, "num_heads": 2, "units": 8, "hidden_dim": 5}
KINDS = {
    "pixels": {"image_shape": SHAPE, "patch_size": [8, 6]},
    "cnn": {"image_shape": SHAPE},
    "deeper": {
        "image_shape": SHAPE,
        "patch_size": 8,
        "norm": "post",
        "position": "learned",
        "max_length": 6,
        "num_decoder_layers": 2,
    },
    "vit": {"encoder": vit(6, num_class_tokens=2), "tie_embeddings": False},
    "gpt2": {
        "encoder": vit(8),
        "position": "learned",
        "max_length": 9,  # room for the contract's padding
        "epsilon": 0.01,
        "activation": "gelu_tanh",
        "scale_embedding": False,
    },
}
GRIDS = {
    "pixels": (2, 4),
    "cnn": (2, 3),
    "deeper": (2, 3),
    "vit": (2, 4),
    "gpt2": (2, 4),
}


def make(rng, kind="pixels", **options):
    options = {**SIZES, **KINDS[kind], "dropout": 0.0, **options}
    model = TransformerCaptioner(VOCABULARY, **options)
    set_random(model, rng, scale=0.3)
    return model


@pytest.fixture
def batch(rng):
    return captioners.make_batch(rng)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pixels", "cnn", "vit", "gpt2"])
def test_contract(kind, batch, tmp_path):
    check_model(
        TransformerCaptioner,
        {
            **SIZES,
            **KINDS[kind],
            "vocabulary_size": VOCABULARY,
            "dropout": 0.1,
        },
        batch,
        tmp_path=tmp_path,
        padded=("target",),
        powerless=["key/bias"],
    )


def oracle(model, batch):
    """The logits, by the equations of ViT and of the Transformer's decoder."""
    words, *places = (
        np.array(layer.embeddings)
        for layer in (
            model.target_embedding,
            model.encoder.position_embedding,
            model.decoder.position_embedding,
        )
    )
    kind = {"norm": "pre", "normalization": "layer"}

    def attend(layer, memory=None, mask=None, causal=False):
        def sublayer(x):
            value = x if memory is None else memory
            return equations.attend(layer, x, value, mask, causal)[0]

        return sublayer

    def feed(block, x):
        return equations.residual(
            block.feed_forward_residual,
            x,
            lambda x: equations.feed_forward(block.feed_forward, x, "gelu"),
            **kind,
        )

    rows, columns = model.grid
    height, width = SHAPE[0] // rows, SHAPE[1] // columns
    image = batch["image"].astype("float64")
    patches = [
        image[:, row : row + height, column : column + width].reshape(3, -1)
        for row in range(0, SHAPE[0], height)
        for column in range(0, SHAPE[1], width)
    ]
    x = equations.project(model.patches.projection, np.stack(patches, axis=1))
    x = x + places[0]
    (block,) = model.encoder.blocks
    own = attend(block.self_attention)
    x = equations.residual(block.attention_residual, x, own, **kind)
    x = feed(block, x)
    memory = equations.normalize(model.encoder.last_norm, x, "layer")

    target = batch["target"]
    x = np.sqrt(SIZES["units"]) * words[target] + places[1]
    (block,) = model.decoder.blocks
    own = attend(block.self_attention, mask=target != 0, causal=True)
    x = equations.residual(block.attention_residual, x, own, **kind)
    cross = attend(block.cross_attention, memory)
    x = equations.residual(block.cross_residual, x, cross, **kind)
    x = feed(block, x)
    return equations.normalize(model.decoder.last_norm, x, "layer") @ words.T


def test_matches_the_equations(batch, rng):
    model = make(rng, position="learned", max_length=6, dtype="float64")
    real = batch["target"] != 0
    expected = oracle(model, batch)
    np.testing.assert_allclose(model(batch)[real], expected[real], atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_equal_the_forward_pass(kind, batch, rng):
    model = make(rng, kind)
    full = model(batch)
    assert full.shape == (3, 6, VOCABULARY)
    real = batch["target"] != 0
    np.testing.assert_array_equal(full._keras_mask, real)
    state = model.encode(batch["image"], 6)
    logits, state = step_through(model, state, batch["target"])
    np.testing.assert_allclose(logits[real], full[real], rtol=1e-4, atol=1e-4)
    image = {"image": batch["image"]}
    forced = model.teacher_forced(image, batch["target"])
    np.testing.assert_allclose(logits, forced, rtol=1e-4, atol=1e-4)
    read = {**image, "memory": model.memory(batch["image"])}
    again = model.teacher_forced(read, batch["target"])
    np.testing.assert_allclose(again, forced, atol=1e-5)
    assert {leaf.shape[0] for leaf in keras.tree.flatten(state)} == {3}


@pytest.mark.parametrize("kind", ["pixels", "deeper", "vit"])
def test_the_alignment_says_where_each_word_looked(kind, batch, rng):
    model = make(rng, kind)
    found = model.alignment(batch["image"], batch["target"])
    assert found.shape == (3, 6, *GRIDS[kind]) and found.dtype == "float32"
    heads = [
        model.alignment(batch["image"], batch["target"], head=head)
        for head in range(2)
    ]
    np.testing.assert_allclose(found, sum(heads) / 2, atol=1e-6)
    state = model.encode(batch["image"], 6)
    caches = State(state.carried["caches"], state.constant["caches"])
    for position in range(6):
        _, caches, weights = model.decoder.step(
            model.target_embedding(batch["target"][:, position]),
            caches,
            np.array([position] * 3),
            state.constant["memories"],
        )
        for head, looked in enumerate(heads):
            np.testing.assert_allclose(
                looked[:, position],
                np.reshape(
                    # Class tokens, which stand nowhere, come first.
                    weights[:, head, 0, -np.prod(GRIDS[kind]) :],
                    (3, *GRIDS[kind]),
                ),
                atol=1e-5,
            )


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
def test_a_frozen_stem_stays_as_it_is(frozen, batch, tmp_path):
    stem = captioners.batch_norm_cnn()
    stem.trainable = not frozen
    model = TransformerCaptioner(VOCABULARY, **SIZES, stem=stem, dropout=0.0)
    captioners.check_frozen(model, stem, batch)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert bool(loaded.stem.trainable_weights) == (not frozen)


@pytest.mark.slow
def test_an_image_model_of_keras_is_a_stem(rng):
    captioners.check_image_model(
        lambda cnn: TransformerCaptioner(VOCABULARY, **SIZES, stem=cnn), rng
    )


def test_the_memory_is_all_tokens_of_a_vit(batch, rng):
    model = make(rng, "vit")
    assert isinstance(model.encoder, ViT) and model.grid == (2, 4)
    tokens = np.array(model.encoder(batch["image"]))
    assert tokens.shape == (3, 2 + 8, 6)
    kernel, bias = model.project_memory.get_weights()
    memory = model.memory(batch["image"])
    np.testing.assert_allclose(memory, tokens @ kernel + bias, atol=1e-5)
    narrow = make(rng, "gpt2")
    assert narrow.project_memory is None
    np.testing.assert_allclose(
        narrow.memory(batch["image"]), narrow.encoder(batch["image"]), atol=1e-6
    )


def test_words_and_logits_may_have_a_matrix_each(batch, rng):
    model = make(rng, "vit")
    plain = model.teacher_forced(batch["image"], batch["target"])
    model.project.kernel.assign(2 * model.project.kernel)
    twice = model.teacher_forced(batch["image"], batch["target"])
    np.testing.assert_allclose(twice, 2 * plain, rtol=1e-5)


def test_pixels_are_read_without_convolution_or_recurrence(rng):
    model = make(rng)
    assert model.stem is None
    for layer in model._flatten_layers():
        assert "Conv" not in type(layer).__name__
        assert not isinstance(layer, keras.layers.RNN)


def test_patches_may_hold_several_cells_of_a_stem():
    stem = keras.Sequential([keras.Input(SHAPE), keras.layers.Conv2D(4, 1)])
    model = TransformerCaptioner(VOCABULARY, **SIZES, stem=stem, patch_size=4)
    assert model.grid == (4, 6)
    assert model.patches.projection.kernel.shape == (4 * 4 * 4, 8)


def test_ragged_targets_are_as_padded_ones(batch, rng):
    model = make(rng)
    ragged = tf.RaggedTensor.from_tensor(batch["target"], padding=0)
    found = model({"image": tf.constant(batch["image"]), "target": ragged})
    np.testing.assert_allclose(found, model(batch), rtol=1e-5, atol=1e-5)


def test_captions_are_scored(batch, rng):
    model = make(rng)
    inputs = {"image": batch["image"]}
    lengths = np.sum(batch["target"] != 0, axis=1)
    found = score(model, inputs, batch["target"], start_id=2, lengths=lengths)
    fed = np.concatenate([[[2]] * 3, batch["target"][:, :-1]], axis=1)
    logits = model.teacher_forced(inputs, fed)
    expected = np.take_along_axis(
        np.array(tf.nn.log_softmax(logits)), batch["target"][..., None], axis=-1
    )
    expected = np.where(batch["target"] != 0, expected[..., 0], 0.0)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("shape", [(8, 24, 3), (16, 24, 1), (32, 24, 3)])
def test_images_of_another_shape_are_refused(shape, batch, rng):
    model = make(rng)
    image = np.zeros((3, *shape), "float32")
    with pytest.raises(ValueError, match=r"takes images of .* Resize them"):
        model.encode(image, 6)
    with pytest.raises(ValueError, match="shape"):
        model({**batch, "image": image})


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "Give `stem`, or the `image_shape`"),
        (
            {"stem": captioners.batch_norm_cnn(), "image_shape": SHAPE},
            "Give `stem`, or the `image_shape`",
        ),
        ({"stem": keras.layers.Conv2D(3, 2)}, "`stem` must be a functional"),
        ({"patch_size": 8}, "cuts pixels into patches"),
        ({"patch_size": 8, "image_shape": (16, 24)}, "cuts pixels"),
        ({"patch_size": 7, "image_shape": SHAPE}, "must divide both sides"),
        ({"patch_size": 0, "image_shape": SHAPE}, "`patch_size` must be an"),
        ({"image_shape": SHAPE, "num_heads": 3}, "`num_heads` must divide"),
        ({"encoder": vit(8), "patch_size": 8}, "reads the pixels itself"),
        ({"encoder": vit(8), "image_shape": SHAPE}, "reads the pixels itself"),
        ({"encoder": vit(8, pooling="token")}, "`pooling=None`"),
        ({"encoder": captioners.batch_norm_cnn()}, "must be a `ViT` that"),
    ],
)
def test_what_cannot_be_made_is_refused(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        TransformerCaptioner(VOCABULARY, **{**SIZES, **options})
