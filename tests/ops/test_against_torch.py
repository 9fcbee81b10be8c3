import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.positions import relative_buckets
from tests.ops import cases

pytestmark = pytest.mark.peers

QUERY, KEY, HEADS, DEPTH, VALUE_DEPTH = 5, 7, 6, 4, 3


def heads_of(kv_heads, rng, query_length=QUERY):
    """Float32 query, key and value, (batch, length, heads, depth)."""
    shapes = {
        "query": (2, query_length, HEADS, DEPTH),
        "key": (2, KEY, kv_heads, DEPTH),
        "value": (2, KEY, kv_heads, VALUE_DEPTH),
    }
    return {
        name: rng.normal(size=shape).astype("float32")
        for name, shape in shapes.items()
    }


def torch_attention(arrays, cotangent, **options):
    """Output and gradients of torch's scaled_dot_product_attention."""
    torch = pytest.importorskip("torch")
    leaves = {
        name: torch.tensor(x, requires_grad=True) for name, x in arrays.items()
    }
    query, key, value = (
        leaves[name].transpose(1, 2) for name in ("query", "key", "value")
    )
    if "bias" in leaves:
        options["attn_mask"] = leaves["bias"]
    if "mask" in options:
        options["attn_mask"] = torch.tensor(options.pop("mask"))
    output = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, enable_gqa=True, **options
    ).transpose(1, 2)
    output.backward(torch.tensor(cotangent))
    return output.detach().numpy(), {
        name: leaf.grad.numpy() for name, leaf in leaves.items()
    }


def check(attend, arrays, rng, ours=(), theirs=()):
    shape = (*arrays["query"].shape[:3], VALUE_DEPTH)
    cotangent = rng.normal(size=shape).astype("float32")
    output, slopes = cases.output_and_gradients(
        attend,
        {name: tf.constant(x) for name, x in arrays.items()},
        {},
        cotangent,
        **dict(ours),
    )
    expected, expected_slopes = torch_attention(
        arrays, cotangent, **dict(theirs)
    )
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-5)
    for name, slope in expected_slopes.items():
        np.testing.assert_allclose(
            slopes[name], slope, rtol=1e-4, atol=1e-4, err_msg=name
        )


every_kind_of_heads = pytest.mark.parametrize(
    "kv_heads", [6, 2, 1], ids=["mha", "gqa", "mqa"]
)


@every_kind_of_heads
def test_plain_attention_agrees(attend, kv_heads, rng):
    check(attend, heads_of(kv_heads, rng), rng)


@every_kind_of_heads
def test_causal_attention_agrees_for_equal_lengths(attend, kv_heads, rng):
    arrays = heads_of(kv_heads, rng, query_length=KEY)
    check(attend, arrays, rng, {"causal": True}, {"is_causal": True})


@every_kind_of_heads
def test_a_boolean_mask_agrees(attend, kv_heads, rng):
    mask = rng.random((2, 1, QUERY, KEY)) < 0.7
    mask[..., 0] = True  # torch's answer for a blind query is not ours
    check(attend, heads_of(kv_heads, rng), rng, {"mask": mask}, {"mask": mask})


@every_kind_of_heads
def test_a_bias_agrees(attend, kv_heads, rng):
    arrays = heads_of(kv_heads, rng)
    shape = (1, HEADS, QUERY, KEY)
    arrays["bias"] = rng.normal(size=shape).astype("float32")
    check(attend, arrays, rng)


def test_a_scale_agrees(attend, rng):
    check(attend, heads_of(2, rng), rng, {"scale": 0.3}, {"scale": 0.3})


def test_buckets_agree_with_the_formula_of_t5_in_float32():
    torch = pytest.importorskip("torch")
    distance = torch.arange(-5000, 5000)
    for half, bidirectional in [(16, True), (32, False)]:
        n = distance.abs() if bidirectional else distance.clamp(min=0)
        exact = half // 2
        share = torch.log(n.clamp(min=1).float() / exact)
        share = share / np.log(128 / exact) * (half - exact)
        far = (exact + share.to(torch.long)).clamp(max=half - 1)
        expected = torch.where(n < exact, n, far)
        if bidirectional:
            expected = expected + half * (distance < 0)
        actual = relative_buckets(
            distance.numpy()[None],
            np.array([[0]]),
            num_buckets=32,
            max_distance=128,
            bidirectional=bidirectional,
        )
        np.testing.assert_array_equal(actual[0, :, 0], expected)
