import numpy as np
import pytest
import tensorflow as tf

from keras_attn.embeddings.class_token import ClassToken
from tests.contract import check_layer


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 3, 5)).astype("float32")


def test_contract(inputs, tmp_path):
    check_layer(
        ClassToken,
        {"num_tokens": 2, "embeddings_initializer": "ones"},
        {"inputs": inputs},
        output_shape=(2, 5, 5),
        tmp_path=tmp_path,
        padded=(),  # it looks at no position
    )


def test_every_row_gets_the_same_tokens_before_its_own(inputs, rng):
    layer = ClassToken(2)
    layer.build(inputs.shape)
    tokens = rng.normal(size=(2, 5)).astype("float32")
    layer.set_weights([tokens])
    output = layer(inputs)
    np.testing.assert_array_equal(output[:, :2], [tokens, tokens])
    np.testing.assert_array_equal(output[:, 2:], inputs)


def test_a_mask_goes_on_and_lets_the_tokens_be_seen(inputs):
    inputs = tf.constant(inputs)
    mask = np.array([[1, 1, 0], [1, 0, 0]], "bool")
    inputs._keras_mask = tf.constant(mask)
    expected = [[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]]
    np.testing.assert_array_equal(ClassToken(2)(inputs)._keras_mask, expected)


def test_without_a_mask_there_is_none(inputs):
    output = ClassToken()(tf.constant(inputs))
    assert getattr(output, "_keras_mask", None) is None


def test_new_tokens_differ_and_are_small():
    layer = ClassToken(3)
    layer.build((None, None, 500))
    tokens = np.array(layer.embeddings)
    assert 0.015 < tokens.std() < 0.025
    assert np.abs(tokens[0] - tokens[1]).max() > 0.01


def test_no_token_is_refused():
    with pytest.raises(ValueError, match="`num_tokens` must be"):
        ClassToken(0)
