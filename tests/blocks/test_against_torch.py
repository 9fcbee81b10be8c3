"""Blocks beside torch's layers, with the same weights."""

import numpy as np
import pytest

from keras_attn.blocks.decoder import DecoderBlock
from keras_attn.blocks.encoder import EncoderBlock

pytestmark = pytest.mark.peers

# features, heads, hidden, batch, target, source
SIZES = [(6, 2, 7, 2, 5, 3), (15, 5, 11, 3, 1, 4), (21, 3, 50, 1, 13, 9)]


def array(tensor):
    return tensor.detach().numpy()


def copy_dense(dense, linear):
    dense.kernel.assign(array(linear.weight).T)
    dense.bias.assign(array(linear.bias))


def copy_norm(residual, norm):
    residual.normalize.gamma.assign(array(norm.weight))
    residual.normalize.beta.assign(array(norm.bias))


def copy_attention(ours, theirs):
    features = theirs.embed_dim
    heads = (ours.num_heads, ours.key_dim)
    weights = np.split(array(theirs.in_proj_weight), 3)
    biases = np.split(array(theirs.in_proj_bias), 3)
    denses = (ours.query_dense, ours.key_dense, ours.value_dense)
    for dense, weight, bias in zip(denses, weights, biases, strict=True):
        dense.kernel.assign(weight.T.reshape(features, *heads))
        dense.bias.assign(bias.reshape(heads))
    out = theirs.out_proj
    ours.output_dense.kernel.assign(array(out.weight).T.reshape(*heads, -1))
    ours.output_dense.bias.assign(array(out.bias))


def make_theirs(kind, size, norm, activation):
    import torch

    torch.manual_seed(0)
    features, heads, hidden, *_ = size
    layer = getattr(torch.nn, kind)(
        features,
        heads,
        hidden,
        dropout=0.0,  # so it may stay in training, off its fused path
        activation=activation,
        batch_first=True,
        norm_first=norm == "pre",
    )
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return layer


def padding(batch, length):
    """True where it is real: the first row whole, then ever shorter ones."""
    real = np.maximum(length - 2 * np.arange(batch), 1)
    return np.arange(length) < real[:, None]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_an_encoder_block_equals_torch(size, norm, activation, rng):
    import torch

    features, heads, hidden, batch, length, _ = size
    theirs = make_theirs("TransformerEncoderLayer", size, norm, activation)
    block = EncoderBlock(heads, hidden, norm=norm, activation=activation)
    block.build((None, None, features))
    copy_attention(block.self_attention, theirs.self_attn)
    copy_norm(block.attention_residual, theirs.norm1)
    copy_dense(block.feed_forward.hidden_dense, theirs.linear1)
    copy_dense(block.feed_forward.output_dense, theirs.linear2)
    copy_norm(block.feed_forward_residual, theirs.norm2)

    x = rng.normal(size=(batch, length, features)).astype("float32")
    mask = padding(batch, length)
    expected = theirs(torch.tensor(x), src_key_padding_mask=torch.tensor(~mask))
    np.testing.assert_allclose(
        block(x, mask=mask)[mask], array(expected)[mask], atol=1e-5
    )


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_decoder_block_equals_torch(size, norm, activation, rng):
    import torch

    features, heads, hidden, batch, length, source = size
    theirs = make_theirs("TransformerDecoderLayer", size, norm, activation)
    block = DecoderBlock(heads, hidden, norm=norm, activation=activation)
    block.build((None, None, features), (None, None, features))
    copy_attention(block.self_attention, theirs.self_attn)
    copy_norm(block.attention_residual, theirs.norm1)
    copy_attention(block.cross_attention, theirs.multihead_attn)
    copy_norm(block.cross_residual, theirs.norm2)
    copy_dense(block.feed_forward.hidden_dense, theirs.linear1)
    copy_dense(block.feed_forward.output_dense, theirs.linear2)
    copy_norm(block.feed_forward_residual, theirs.norm3)

    x = rng.normal(size=(batch, length, features)).astype("float32")
    memory = rng.normal(size=(batch, source, features)).astype("float32")
    mask, memory_mask = padding(batch, length), padding(batch, source)
    expected = theirs(
        torch.tensor(x),
        torch.tensor(memory),
        tgt_mask=torch.ones(length, length).triu(1).bool(),
        tgt_key_padding_mask=torch.tensor(~mask),
        memory_key_padding_mask=torch.tensor(~memory_mask),
    )
    output = block(x, memory, mask=mask, memory_mask=memory_mask)
    np.testing.assert_allclose(output[mask], array(expected)[mask], atol=1e-5)
