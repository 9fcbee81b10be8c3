import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops import attention
from tests import oracle
from tests.ops import cases


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
