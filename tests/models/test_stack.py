import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.blocks.decoder import DecoderBlock
from keras_attn.blocks.encoder import EncoderBlock
from keras_attn.models.stack import Stack
from keras_attn.modifiers.relative_bias import RelativeBias
from tests.contract import check_layer

MASK = np.array([[1, 1, 1], [1, 1, 0]], "bool")
VECTORS = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")


def make(num_layers=2, dtype=None, **options):
    options = {
        "position": "learned",
        "max_length": 6,
        "first_norm": False,
        "last_norm": False,
        "dropout": 0.0,
        **options,
    }
    blocks = [
        DecoderBlock(2, 5, epsilon=0.25, dtype=dtype) for _ in range(num_layers)
    ]
    return Stack(blocks, dtype=dtype, **options)


def test_contract(tmp_path):
    check_layer(
        Stack,
        {
            "blocks": [EncoderBlock(2, 5)],
            "position": "learned",
            "max_length": 9,
            "first_norm": True,
            "dropout": 0.1,
        },
        {"inputs": VECTORS},
        output_shape=(2, 3, 4),
        tmp_path=tmp_path,
        powerless=["key/bias"],
    )


def test_contract_of_what_blocks_share(tmp_path):
    bias = RelativeBias(num_buckets=4, max_distance=3)
    check_layer(
        Stack,
        {
            "blocks": [EncoderBlock(2, 5), EncoderBlock(2, 7)],
            "shared_modifiers": [bias],
            "position": "split_sine",
            "first_counts": True,
        },
        {"inputs": VECTORS},
        output_shape=(2, 3, 4),
        tmp_path=tmp_path,
        powerless=["key/bias"],
    )


def test_blocks_share_one_modifier_also_when_they_come_back():
    stack = make(shared_modifiers=["relative_bias"])
    other = Stack.from_config(stack.get_config())
    for each in (stack, other):
        each(VECTORS)
        (bias,) = each.shared_modifiers
        assert sum(weight is bias.table for weight in each.weights) == 1
        for block in each.blocks:
            assert block.self_attention.modifiers == [bias]
    after = Stack.from_config(stack.get_config())
    after.build(VECTORS.shape)
    after.set_weights(stack.get_weights())
    np.testing.assert_array_equal(after(VECTORS), stack(VECTORS))


def test_a_shared_bias_is_that_of_every_block():
    shared, own = RelativeBias(num_buckets=4, bidirectional=False), {}
    stack = make(shared_modifiers=[shared])
    own = Stack(
        [
            DecoderBlock(2, 5, epsilon=0.25, attention={"modifiers": [shared]})
            for _ in range(2)
        ],
        position="learned",
        max_length=6,
    )
    stack(VECTORS)
    own(VECTORS)
    table = np.random.default_rng(1).normal(size=shared.table.shape)
    shared.table.assign(table)
    mine = [w for w in stack.weights if w is not shared.table]
    theirs = [w for w in own.weights if not w.path.endswith("table")]
    for weight, value in zip(theirs, mine, strict=True):
        weight.assign(value)
    for block in own.blocks:
        block.self_attention.modifiers[0].table.assign(table)
    np.testing.assert_allclose(own(VECTORS), stack(VECTORS), atol=1e-6)


def test_the_first_of_a_row_counts_if_told_to():
    plain, counting = make(), make(first_counts=True)
    padded = MASK[:, ::-1]  # the first of the second row is padding
    plain(VECTORS)
    counting(VECTORS)
    counting.set_weights(plain.get_weights())
    inputs = tf.constant(VECTORS)
    inputs._keras_mask = tf.constant(padded)
    output = counting(inputs)
    counted = padded | [True, False, False]
    np.testing.assert_array_equal(output._keras_mask, counted)
    np.testing.assert_allclose(output, plain(VECTORS, mask=counted), atol=1e-6)
    assert np.any(abs(output - plain(VECTORS, mask=padded))[1] > 1e-3)
    symbolic = keras.layers.Masking()(keras.Input((None, 4)))
    assert counting(symbolic)._keras_mask is not None


@pytest.mark.parametrize("position", ["learned", "sine", "split_sine", None])
@pytest.mark.parametrize("norms", [(True, False), (False, True)])
def test_is_the_chain_of_its_parts(position, norms):
    stack = make(position=position, first_norm=norms[0], last_norm=norms[1])
    inputs = tf.constant(VECTORS)
    inputs._keras_mask = tf.constant(MASK)
    output = stack(inputs)
    x = VECTORS
    if position is not None:
        x = stack.position_embedding(x)
    if norms[0]:
        x = stack.first_norm(x)
    for block in stack.blocks:
        x = block(x, mask=MASK)
    if norms[1]:
        x = stack.last_norm(x)
    np.testing.assert_allclose(output, x, rtol=1e-6)
    np.testing.assert_array_equal(output._keras_mask, MASK)


def test_norms_are_those_of_the_blocks():
    stack = make(first_norm=True, last_norm=True)
    assert stack.first_norm.epsilon == stack.last_norm.epsilon == 0.25


def test_no_norm_of_a_batch_sees_padding():
    stack = Stack(
        [EncoderBlock(2, 5, normalization="batch")],
        first_norm=True,
        last_norm=True,
    )
    expected = stack(VECTORS, training=True)
    padding = [(0, 0), (0, 2), (0, 0)]
    longer = np.pad(VECTORS, padding, constant_values=np.nan)
    output = stack(longer, mask=np.isfinite(longer[..., 0]), training=True)
    np.testing.assert_allclose(output[:, :3], expected, atol=1e-5)


def test_what_is_added_comes_before_the_norm():
    stack = make(first_norm=True)
    added = np.ones((2, 3, 4), "float32")
    plain, moved = stack(VECTORS), stack(VECTORS, added=5 * added)
    # A norm does not see what all features have in common.
    np.testing.assert_allclose(plain, moved, atol=1e-4)
    other = make()
    assert (
        abs(other(VECTORS) - other(VECTORS, added=5 * added)).numpy().max() > 1
    )


def test_says_its_output_without_running_a_block():
    stack = make(dtype="mixed_bfloat16")
    output = stack(keras.Input((None, 4)))
    assert tuple(output.shape) == (None, None, 4)
    assert output.dtype == stack(VECTORS).dtype == "bfloat16"


def test_the_weights_are_those_that_made_the_output():
    stack = make(last_norm=True)
    output, weights = stack(VECTORS, mask=MASK, return_attention_scores=True)
    np.testing.assert_allclose(output, stack(VECTORS, mask=MASK), atol=1e-6)
    x = stack.position_embedding(VECTORS)
    for block, found in zip(stack.blocks, weights, strict=True):
        x, own = block(x, mask=MASK, return_attention_scores=True)
        np.testing.assert_allclose(found, own, atol=1e-6)
    symbolic = stack(keras.Input((3, 4)), return_attention_scores=True)
    assert [tuple(x.shape) for x in symbolic[1]] == [(None, 2, 3, 3)] * 2


def test_with_a_memory_the_weights_are_those_of_the_memory():
    stack = make()
    memory = np.ones((2, 5, 3), "float32")
    _, weights = stack(VECTORS, memory, return_attention_scores=True)
    last = stack.alignment(VECTORS, memory)
    assert last.shape == (2, 2, 3, 5)
    np.testing.assert_allclose(weights[-1], last, atol=1e-6)


def test_drops_while_training():
    stack = make(dropout=0.5)
    assert np.any(stack(VECTORS, training=True) != stack(VECTORS))


def test_room_is_checked_against_the_positions_learned():
    stack = make(max_length=6)
    stack.check_room(6)
    stack.check_room(tf.constant([2, 6]))
    with pytest.raises(ValueError, match=r"learned 6 positions.*Received: 7"):
        stack.check_room(7)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="learned 6 positions"
    ):
        stack.check_room(tf.constant([2, 7]))
    make(position="sine").check_room(7)


def test_a_wrong_position_or_depth_is_refused():
    with pytest.raises(ValueError, match=r"`position`.*'sinus'"):
        make(position="sinus")
    with pytest.raises(ValueError, match="`num_layers` must be at least 1"):
        make(num_layers=0)
