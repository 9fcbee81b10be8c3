"""Keras' own `model.export`, answered by the loader that the server uses."""

import keras
import numpy as np
import pytest

from keras_attn.attention.additive import AdditiveAttention
from keras_attn.attention.dot import DotAttention
from keras_attn.attention.local import LocalAttention
from keras_attn.attention.location_sensitive import LocationSensitiveAttention
from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.attention.multiplicative import MultiplicativeAttention
from keras_attn.attention.pooling import AttentionPooling
from keras_attn.attention.self_attention import SelfAttention
from keras_attn.modifiers.alibi import ALiBi
from keras_attn.modifiers.qk_norm import QKNorm
from keras_attn.modifiers.relative_bias import RelativeBias
from keras_attn.modifiers.rotary import Rotary
from keras_attn.modifiers.sinks import Sinks
from keras_attn.modifiers.soft_cap import SoftCap
from tests import cpp_loader

VOCABULARY, WIDTH, HEADS, DEPTH = 11, 12, 4, 6

# Batch and lengths; a model is traced with none of them. The last source is
# longer than a tile and ends in the middle of one.
SIZES = [
    (3, {"target": 7, "source": 5}),
    (1, {"target": 1, "source": 1}),
    (2, {"target": 3, "source": 530}),
]


def encoder():
    """One dense and one tiled layer on a sequence with padding."""
    source = keras.Input((None,), dtype="int32", name="source")
    features = keras.layers.Embedding(VOCABULARY, WIDTH, mask_zero=True)(source)
    for implementation, use_causal_mask in (("dense", False), ("tiled", True)):
        attended = MultiHeadAttention(
            HEADS, DEPTH, implementation=implementation
        )(features, features, use_causal_mask=use_causal_mask)
        features = keras.layers.Add()([features, attended])
        features = keras.layers.LayerNormalization()(features)
    return keras.Model([source], {"features": features})


def modified():
    """Cross-attention with every modifier, grouped heads and a window."""
    target = keras.Input((None,), dtype="int32", name="target")
    source = keras.Input((None,), dtype="int32", name="source")
    embedding = keras.layers.Embedding(VOCABULARY, WIDTH, mask_zero=True)
    outputs = {}
    for implementation in ("dense", "tiled"):
        layer = MultiHeadAttention(
            HEADS,
            DEPTH,
            sliding_window=300,
            use_gate=True,
            num_kv_heads=2,
            modifiers=[
                QKNorm(),
                Rotary(),
                SoftCap(5.0),
                ALiBi(),
                RelativeBias(num_buckets=8),
                Sinks(),
            ],
            implementation=implementation,
        )
        outputs[implementation] = layer(embedding(target), embedding(source))
    return keras.Model([target, source], outputs)


def lectures():
    """Every layer with one head."""
    target = keras.Input((None,), dtype="int32", name="target")
    source = keras.Input((None,), dtype="int32", name="source")
    embedding = keras.layers.Embedding(VOCABULARY, WIDTH, mask_zero=True)
    query, value = embedding(target), embedding(source)
    dot, weights = DotAttention()(query, value, return_attention_scores=True)
    return keras.Model(
        [target, source],
        {
            "dot": dot,
            "dot_weights": weights,
            "dot_without_weights": DotAttention(score="dot")(query, value),
            "additive": AdditiveAttention(7)(query, value),
            "multiplicative": MultiplicativeAttention(units=3)(query, value),
            "local": LocalAttention(2)(query, value),
            "location": LocationSensitiveAttention(6)(query, value),
            "self": SelfAttention(5, causal=True)(value),
            "pooling": AttentionPooling(8)(value),
        },
    )


@pytest.mark.parametrize(
    "make_model",
    [
        modified,
        pytest.param(encoder, marks=pytest.mark.slow),
        pytest.param(lectures, marks=pytest.mark.slow),
    ],
)
def test_the_server_answers_like_python(make_model, rng, tmp_path):
    model = make_model()
    for variable in model.trainable_variables:
        # Biases and sinks that start at 0 would hide that they are not read.
        variable.assign(rng.normal(size=variable.shape, scale=0.5))
    model.export(tmp_path, verbose=False)
    assert not [op for op in cpp_loader.op_names(tmp_path) if "Xla" in op]

    requests = [
        {
            tensor.name: padded_tokens(rng, batch, lengths[tensor.name])
            for tensor in model.inputs
        }
        for batch, lengths in SIZES
    ]
    answers = cpp_loader.run_each(tmp_path, "serving_default", requests)
    for inputs, answer in zip(requests, answers, strict=True):
        expected = model(list(inputs.values()))
        assert answer.keys() == expected.keys()
        for name, output in answer.items():
            assert output.shape == expected[name].shape
            np.testing.assert_allclose(
                output, expected[name], rtol=1e-5, atol=1e-5, err_msg=name
            )


def padded_tokens(rng, batch, length):
    """Make rows of at least one token, padded with 0 to the same length."""
    tokens = rng.integers(1, VOCABULARY, size=(batch, length), dtype="int32")
    real = rng.integers(1, length + 1, size=(batch, 1))
    return np.where(np.arange(length) < real, tokens, np.int32(0))
