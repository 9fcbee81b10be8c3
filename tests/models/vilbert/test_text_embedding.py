import numpy as np
import pytest
import tensorflow as tf

from keras_attn.models.vilbert.text_embedding import TextEmbedding
from tests.blocks import equations
from tests.contract import check_layer
from tests.models.stepping import set_random

SEGMENTS = np.array([[0, 0, 1], [0, 1, 1]])


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 3, 4)).astype("float32")


def test_contract(inputs, tmp_path):
    check_layer(
        TextEmbedding,
        {"max_length": 9, "num_segments": 3, "dropout": 0.1, "epsilon": 0.1},
        {"inputs": inputs, "segments": SEGMENTS},
        output_shape=(2, 3, 4),
        tmp_path=tmp_path,
        padded=(),
    )


def test_matches_the_equation(inputs, rng):
    layer = TextEmbedding(5, epsilon=equations.EPSILON)
    layer.build((None, None, 4), (None, None))
    set_random(layer, rng)
    x = np.float64(inputs)
    x = x + np.float64(layer.position_embedding.embeddings)[None, :3]
    x = x + np.float64(layer.segment_embedding.embeddings)[SEGMENTS]
    expected = equations.normalize(layer.normalize, x, "layer")
    output = layer(inputs, SEGMENTS)
    np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-5)


def test_padding_keeps_its_mask_and_gives_no_nan(inputs):
    mask = np.array([[True, True, False]] * 2)
    tensor = tf.constant(np.where(mask[..., None], inputs, np.nan))
    tensor._keras_mask = tf.constant(mask)
    output = TextEmbedding(5)(tensor, SEGMENTS)
    assert np.isfinite(output).all()
    np.testing.assert_array_equal(output._keras_mask, mask)


def test_refuses_texts_that_are_too_long(inputs):
    with pytest.raises(ValueError, match="positions"):
        TextEmbedding(2)(inputs, SEGMENTS)
    with pytest.raises(ValueError, match="`num_segments` must be"):
        TextEmbedding(2, num_segments=0)
