import json

import keras
import numpy as np
import pytest

from keras_attn.blocks import activations
from keras_attn.blocks.block import Block
from keras_attn.blocks.block import is_gated
from keras_attn.blocks.encoder import EncoderBlock
from keras_attn.blocks.feed_forward import FeedForward
from keras_attn.blocks.gated_feed_forward import GatedFeedForward
from keras_attn.modifiers import QKNorm
from keras_attn.modifiers import RelativeBias


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 5, 6)).astype("float32")


@pytest.mark.parametrize(
    ("activation", "kind", "function"),
    [
        ("relu", FeedForward, keras.activations.relu),
        ("swiglu", GatedFeedForward, keras.activations.silu),
        ("geglu", GatedFeedForward, activations.gelu),
        ("geglu_tanh", GatedFeedForward, activations.gelu_tanh),
        (keras.activations.tanh, FeedForward, keras.activations.tanh),
    ],
)
def test_the_activation_says_which_network(activation, kind, function):
    network = Block(2, 7, activation=activation).make_feed_forward()
    assert type(network) is kind
    assert network.activation is function


def test_gated_networks_go_by_name():
    assert is_gated("swiglu")
    assert not is_gated("silu")
    assert not is_gated(keras.activations.silu)
    assert not is_gated({"class_name": "function"})


def test_heads_share_the_features_unless_their_depth_is_given():
    attention = Block(2, 7).make_attention("self_attention", 6)
    assert (attention.num_heads, attention.key_dim) == (2, 3)
    block = Block(5, 7, attention={"key_dim": 4, "num_kv_heads": 1})
    attention = block.make_attention("self_attention", 6)
    assert (attention.key_dim, attention.num_kv_heads) == (4, 1)


def test_settings_reach_every_part():
    block = Block(
        2,
        7,
        use_bias=False,
        dropout={"attention": 0.1, "hidden": 0.2, "output": 0.3},
        norm="pre",
        normalization="rms",
        epsilon=1e-3,
        layer_scale=0.5,
        stochastic_depth=0.4,
        kernel_initializer="zeros",
    )
    attention = block.make_attention("self_attention", 6)
    network = block.make_feed_forward()
    residual = block.make_residual("residual")
    assert not attention.use_bias and not network.use_bias
    rates = (attention.dropout, network.dropout, residual.dropout)
    assert rates == (0.1, 0.2, 0.3)
    assert residual.norm == "pre"
    assert residual.normalization == "rms"
    assert residual.epsilon == 1e-3
    assert residual.layer_scale == 0.5
    assert residual.stochastic_depth == 0.4
    attention.build((None, None, 6), (None, None, 6))
    network.build((None, None, 6))
    for weight in (*attention.weights, *network.weights):
        if "seed" not in weight.path:
            np.testing.assert_array_equal(weight, 0.0)


def test_one_number_is_for_every_kind_of_dropout():
    block = Block(2, 7, dropout=0.2)
    assert block.make_attention("self_attention", 6).dropout == 0.2
    assert block.make_feed_forward().dropout == 0.2
    assert block.make_residual("residual").dropout == 0.2


def test_blocks_given_one_modifier_share_no_weights(inputs):
    attention = {"modifiers": [QKNorm(), RelativeBias(num_buckets=4)]}
    one, other = (EncoderBlock(2, 7, attention=attention) for _ in range(2))
    one(inputs)
    other(inputs)
    own = {id(weight) for weight in one.weights}
    assert len(own) == 4 * 2 + 3 + 2 * 2 + 2 * 2
    assert own.isdisjoint(id(weight) for weight in other.weights)


def test_blocks_may_share_a_modifier_of_self_attention(inputs):
    bias, alone = RelativeBias(num_buckets=4), EncoderBlock(2, 7)
    attention = {"modifiers": ["alibi"]}
    one, other = (EncoderBlock(2, 7, attention=attention) for _ in range(2))
    for block in (one, other):
        block.share([bias])
        block(inputs)
        assert block.self_attention.modifiers[1] is bias
    assert one.get_config()["attention"] == {"modifiers": ["alibi"]}
    shared = [w for w in one.weights if any(w is v for v in other.weights)]
    assert [tuple(weight.shape) for weight in shared] == [(4, 2)]
    alone(inputs)
    alone.share([])
    with pytest.raises(ValueError, match="blocks that are not built yet"):
        alone.share([bias])


def test_what_is_given_to_attention_is_saved(inputs):
    attention = {
        "modifiers": [RelativeBias(num_buckets=4)],
        "bias_initializer": keras.initializers.Constant(0.5),
    }
    block = EncoderBlock(2, 7, attention=attention)
    config = json.loads(json.dumps(block.get_config()))
    twin = EncoderBlock.from_config(config)
    assert twin.get_config() == block.get_config()
    twin(inputs)
    (modifier,) = twin.self_attention.modifiers
    assert modifier.num_buckets == 4
    np.testing.assert_array_equal(twin.self_attention.query_dense.bias, 0.5)


def test_an_activation_of_ones_own_is_saved(inputs):
    @keras.saving.register_keras_serializable("keras_attn")
    def squared(x):
        return x**2

    block = EncoderBlock(2, 7, activation=squared)
    twin = EncoderBlock.from_config(block.get_config())
    twin(inputs)
    assert twin.feed_forward.activation is squared
    assert twin.get_config() == block.get_config()


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"num_heads": 0}, "`num_heads` must be an integer of at least 1"),
        ({"num_heads": 4}, "`num_heads` must divide.*num_heads=4, features=6"),
        ({"hidden_dim": 0}, "`hidden_dim` must be an integer of at least 1"),
        ({"norm": "mid"}, "`norm` must be one of.*norm='mid'"),
        ({"normalization": "group"}, "`normalization` must be one of"),
        ({"activation": "wobble"}, "wobble"),
        ({"dropout": 1.0}, "`dropout` must be"),
        ({"dropout": {"value": 0.1}}, r"`dropout`.*keys.*\['value'\]"),
        ({"stochastic_depth": -1}, "`stochastic_depth` must be"),
        ({"attention": {"num_kv_heads": 3}}, "`num_kv_heads` must divide"),
        ({"attention": {"modifiers": ["spin"]}}, "spin"),
    ],
)
def test_refuses_to_be_made(init, message, inputs):
    with pytest.raises(ValueError, match=message):
        EncoderBlock(**{"num_heads": 2, "hidden_dim": 7, **init})(inputs)
