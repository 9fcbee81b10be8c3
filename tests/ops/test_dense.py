import numpy as np
import pytest
import tensorflow as tf

from keras_attn.modifiers import ALiBi
from keras_attn.modifiers import Sinks
from keras_attn.ops import attention
from keras_attn.ops.dense import KeyValueBlock
from keras_attn.ops.dense import block_attention
from keras_attn.ops.dense import dense_attention
from keras_attn.ops.scores import Rules
from tests import oracle
from tests.ops import cases

ROWS, HEADS, KV_HEADS, QUERIES, KEYS, DEPTH = 2, 4, 2, 3, 7, 5


def attend(num_kv_heads, **options):
    """Return heads, output and weights, all as float64."""
    arrays = cases.heads_of(num_kv_heads)
    output, weights = attention(
        **arrays, **options, return_weights=True, implementation="dense"
    )
    return arrays, output.numpy(), weights.numpy()


@pytest.mark.parametrize("kv", cases.KV_HEADS)
def test_the_weights_are_those_of_the_equation(kv):
    num_kv_heads = cases.KV_HEADS[kv]
    names = ["alibi", "soft_cap", "sinks"]
    arrays, _, weights = attend(
        num_kv_heads,
        mask=cases.MASK,
        modifiers=[cases.layer_of(name, num_kv_heads) for name in names],
    )
    _, expected = oracle.attention(
        **arrays,
        mask=cases.MASK,
        modifiers=[(name, cases.MODIFIERS[name]) for name in names],
    )
    np.testing.assert_allclose(weights, expected, rtol=1e-6)
    np.testing.assert_array_equal(weights[~cases.MASK], 0.0)


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("kv", cases.KV_HEADS)
def test_the_weights_are_the_very_ones_that_made_the_output(kv, dropout):
    num_kv_heads = cases.KV_HEADS[kv]
    arrays, output, weights = attend(
        num_kv_heads, causal=True, dropout=dropout, seed=3
    )
    value = arrays["value"].repeat(cases.HEADS // num_kv_heads, axis=2)
    expected = np.einsum("bhqk,bkhd->bqhd", weights, value)
    np.testing.assert_allclose(output, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_weights_and_output_have_the_dtype_of_the_heads(dtype):
    heads = np.ones((2, 3, 4, 5), "float32")
    output, weights = attention(
        *[tf.cast(heads, dtype)] * 3, return_weights=True
    )
    assert output.dtype == weights.dtype == dtype


@pytest.fixture
def tensors(rng):
    query = rng.normal(size=(ROWS, HEADS, QUERIES, DEPTH))
    key, value = rng.normal(size=(2, ROWS, KV_HEADS, KEYS, DEPTH))
    return query, key, value


@pytest.mark.parametrize("ends", [(4,), (1, 6), (0, 3)], ids=str)
@pytest.mark.parametrize("modified", [False, True])
def test_blocks_are_attended_to_as_one(ends, modified, tensors, rng):
    query, key, value = tensors
    modifiers, parameters = (), ()
    if modified:
        modifiers = (ALiBi(), Sinks())
        for modifier in modifiers:
            modifier.build(
                (None, None, HEADS, DEPTH), (None, None, KV_HEADS, DEPTH)
            )
        parameters = tuple(modifier.parameters() for modifier in modifiers)
    rules = Rules(scale=0.3, window=4, modifiers=modifiers)
    query_positions = np.array([[5, 6, 7], [2, 3, 4]])
    key_positions = np.stack([rng.permutation(KEYS) for _ in range(ROWS)])
    mask = rng.random((ROWS, 1, 1, KEYS)) < 0.7
    heads_last = [np.swapaxes(x, 1, 2) for x in tensors]
    expected, expected_weights = dense_attention(
        rules,
        *map(tf.constant, heads_last),
        query_positions,
        key_positions,
        mask=mask,
        parameters=parameters,
    )
    blocks = [
        KeyValueBlock(
            tf.constant(key[:, :, start:end]),
            tf.constant(value[:, :, start:end]),
            key_positions[:, start:end],
            mask[..., start:end],
        )
        for start, end in zip((0, *ends), (*ends, KEYS), strict=True)
    ]
    output, weights = block_attention(
        rules,
        tf.constant(query),
        blocks,
        query_positions,
        parameters=parameters,
    )
    np.testing.assert_allclose(output, np.swapaxes(expected, 1, 2), atol=1e-12)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-12)


def test_blocks_give_the_dtype_of_their_values(tensors):
    blocks = [
        KeyValueBlock(
            tf.cast(key, "bfloat16"),
            tf.cast(value, "bfloat16"),
            np.arange(KEYS)[None],
            np.ones((1, 1, 1, KEYS), bool),
        )
        for key, value in [tensors[1:]] * 2
    ]
    output, weights = block_attention(
        Rules(scale=1.0),
        tf.cast(tensors[0], "bfloat16"),
        blocks,
        np.arange(QUERIES)[None],
    )
    assert output.dtype == weights.dtype == "bfloat16"
    np.testing.assert_allclose(
        tf.reduce_sum(tf.cast(weights, "float32"), axis=-1), 1, atol=2e-2
    )


@pytest.mark.parametrize("kv", cases.KV_HEADS)
def test_one_block_is_attended_to_as_the_oracle_does(kv):
    num_kv_heads = cases.KV_HEADS[kv]
    arrays = cases.heads_of(num_kv_heads)
    alibi = cases.layer_of("alibi", num_kv_heads)
    rules = Rules(scale=0.5, causal=True, modifiers=(alibi,))
    query_positions = np.array([[2, 3, 4, 5, 6]], "int32")
    key_positions = np.array([range(7), range(3, 10)], "int32")
    query, key, value = (x.swapaxes(1, 2) for x in arrays.values())
    output, weights = block_attention(
        rules,
        query,
        [KeyValueBlock(key, value, key_positions, cases.MASK)],
        query_positions,
        parameters=((),),
    )
    expected, expected_weights = oracle.attention(
        **arrays,
        scale=0.5,
        causal=True,
        mask=cases.MASK,
        modifiers=[("alibi", {})],
        query_positions=query_positions,
        key_positions=key_positions,
    )
    np.testing.assert_allclose(
        output, expected.swapaxes(1, 2), rtol=1e-6, atol=1e-9
    )
    np.testing.assert_allclose(weights, expected_weights, rtol=1e-6, atol=1e-9)
