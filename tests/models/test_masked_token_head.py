import keras
import numpy as np
import pytest

from keras_attn.models.masked_token_head import MaskedTokenHead
from tests.contract import check_layer
from tests.contract import check_mask_goes_on
from tests.models.stepping import set_random


def test_contract(rng, tmp_path):
    check_layer(
        MaskedTokenHead,
        {"activation": "gelu_tanh", "epsilon": 0.25},
        {"inputs": rng.normal(size=(2, 3, 4)).astype("float32")},
        output_shape=(2, 3, 4),
        tmp_path=tmp_path,
        padded=(),
    )


def test_matches_the_equation(rng):
    head = MaskedTokenHead(activation="relu", epsilon=0.125, dtype="float64")
    head.build((None, None, 4))
    set_random(head, rng)
    x = rng.normal(size=(2, 3, 4))
    W, b = head.dense.kernel.numpy(), head.dense.bias.numpy()
    gamma, beta = head.normalize.gamma.numpy(), head.normalize.beta.numpy()
    hidden = np.maximum(x @ W + b, 0)
    centred = hidden - hidden.mean(-1, keepdims=True)
    variance = (centred**2).mean(-1, keepdims=True)
    expected = gamma * centred / np.sqrt(variance + 0.125) + beta
    np.testing.assert_allclose(head(x), expected, rtol=1e-12)


def test_a_classifier_has_a_hidden_layer_of_its_own_length(rng):
    head = MaskedTokenHead(units=5)
    assert head(rng.normal(size=(2, 4))).shape == (2, 5)
    assert head.count_params() == 4 * 5 + 5 + 2 * 5
    with pytest.raises(ValueError, match="`units` must be"):
        MaskedTokenHead(units=0)


def test_the_mask_goes_on(rng):
    x = rng.normal(size=(2, 3, 4)).astype("float32")
    check_mask_goes_on(MaskedTokenHead(), x)


def test_its_norm_is_ours():
    head = MaskedTokenHead()
    assert type(head.normalize) is not keras.layers.LayerNormalization
