import keras
import numpy as np
import pytest

from keras_attn.embeddings.token import TokenEmbedding
from keras_attn.models.masked_token_head import MaskedTokenHead
from tests.models.stepping import set_random


@pytest.fixture
def head(rng):
    embedding = TokenEmbedding(7, 4, scale=False, dtype="float64")
    embedding.build()
    head = MaskedTokenHead(
        embedding, activation="relu", epsilon=0.125, dtype="float64"
    )
    head.build((None, None, 4))
    set_random(head, rng)
    return head


def test_matches_the_equation(head, rng):
    x = rng.normal(size=(2, 3, 4))
    W, b = head.dense.kernel.numpy(), head.dense.bias.numpy()
    gamma, beta = head.normalize.gamma.numpy(), head.normalize.beta.numpy()
    E, c = head.embedding.embeddings.numpy(), head.bias.numpy()
    hidden = np.maximum(x @ W + b, 0)
    centred = hidden - hidden.mean(-1, keepdims=True)
    variance = (centred**2).mean(-1, keepdims=True)
    normed = gamma * centred / np.sqrt(variance + 0.125) + beta
    np.testing.assert_allclose(head(x), normed @ E.T + c, rtol=1e-12)


def test_the_bias_starts_at_zero_and_the_mask_goes_on():
    embedding = TokenEmbedding(7, 4)
    head = MaskedTokenHead(embedding, activation="gelu", epsilon=1e-12)
    tokens = keras.ops.array([[3, 0]])
    logits = head(embedding(tokens))
    assert not head.bias.numpy().any()
    np.testing.assert_array_equal(logits._keras_mask, [[True, False]])


def test_half_precision_stays_half():
    embedding = TokenEmbedding(7, 4, dtype="mixed_float16")
    head = MaskedTokenHead(
        embedding, activation="gelu", epsilon=1e-12, dtype="mixed_float16"
    )
    assert head(embedding(keras.ops.array([[3, 4]]))).dtype == "float16"
