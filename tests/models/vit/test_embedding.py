import numpy as np
import pytest

from keras_attn.models.vit.embedding import VisionEmbedding
from keras_attn.ops.positions import resize_grid


@pytest.fixture
def images(rng):
    return rng.normal(size=(2, 4, 6, 3)).astype("float32")


def built(rng, shape, **options):
    layer = VisionEmbedding(2, 8, **options)
    layer.build(shape)
    layer.set_weights([rng.normal(size=w.shape) for w in layer.weights])
    return layer


def test_positions_count_the_class_tokens(images, rng):
    layer = built(rng, images.shape, num_class_tokens=2)
    assert layer.grid == (2, 3)
    patches = layer.patch_embedding(images)
    tokens = np.tile(layer.class_token.embeddings, (2, 1, 1))
    table = np.array(layer.position_embedding.embeddings)
    expected = np.concatenate([tokens, patches], axis=1) + table
    np.testing.assert_allclose(layer(images), expected, atol=1e-5)


@pytest.mark.parametrize("position", ["learned", "sine"])
def test_or_are_those_of_the_patches_alone(position, images, rng):
    options = {"position": position, "class_position": position == "sine"}
    layer = built(rng, images.shape, **options)
    patches = layer.position_embedding(layer.patch_embedding(images))
    output = layer(images)
    token = np.array(layer.class_token.embeddings)
    np.testing.assert_array_equal(output[:, :1], [token, token])
    np.testing.assert_allclose(output[:, 1:], patches, atol=1e-5)


def test_there_may_be_neither(images, rng):
    layer = built(rng, images.shape, num_class_tokens=0, position=None)
    patches = layer.patch_embedding(images)
    np.testing.assert_array_equal(layer(images), patches)


def test_patches_may_be_shifted(images, rng):
    layer = built(rng, images.shape, shifted_patches=True, position=None)
    assert layer.patch_embedding.projection.kernel.shape == (5 * 2 * 2 * 3, 8)
    patches = layer.patch_embedding(images)
    np.testing.assert_array_equal(layer(images)[:, 1:], patches)


@pytest.mark.parametrize("class_position", [True, False])
def test_another_grid_takes_the_weights(class_position, images, rng):
    options = {"class_position": class_position}
    small = built(rng, images.shape, **options)
    large = built(rng, (None, 8, 10, 3), **options)
    large.load_grid(small)
    expected = resize_grid(
        small.position_embedding.embeddings,
        (2, 3),
        (4, 5),
        int(class_position),
    )
    table = large.position_embedding.embeddings
    np.testing.assert_array_equal(table, expected)
    for part in ("patch_embedding", "class_token"):
        pairs = zip(
            getattr(large, part).get_weights(),
            getattr(small, part).get_weights(),
            strict=True,
        )
        for one, two in pairs:
            np.testing.assert_array_equal(one, two)


def test_comes_back_from_its_config():
    layer = VisionEmbedding((2, 3), 8, num_class_tokens=2, position="sine")
    config = layer.get_config()
    assert VisionEmbedding.from_config(config).get_config() == config


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"position": "rotary"}, "`position` must be one of"),
        ({"num_class_tokens": -1}, "`num_class_tokens` must be"),
    ],
)
def test_refuses_to_be_made(options, message):
    with pytest.raises(ValueError, match=message):
        VisionEmbedding(2, 8, **options)
