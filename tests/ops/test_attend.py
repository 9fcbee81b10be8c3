import functools
import importlib

import numpy as np
import pytest
import tensorflow as tf

from keras_attn import modifiers
from keras_attn.ops import attention
from keras_attn.ops.attend import lengths_at_most
from keras_attn.ops.fused.target import lowered_for
from keras_attn.ops.tiling import tiled
from keras_attn.ops.tiling.plan import Plan
from tests import oracle
from tests.ops import cases
from tests.ops.cases import BATCH
from tests.ops.cases import COTANGENT
from tests.ops.cases import DEPTH
from tests.ops.cases import HEADS
from tests.ops.cases import KEY
from tests.ops.cases import KV_HEADS
from tests.ops.cases import QUERY


def check_case(attend, feature, num_kv_heads, wrap=lambda function: function):
    """Compare the output and every gradient with the oracle's.

    `wrap` may compile the function of tensors that does the work.
    """
    arrays, options, names, expected, expected_slopes = cases.expected_of(
        feature, num_kv_heads
    )
    layers = {name: cases.layer_of(name, num_kv_heads) for name in names}
    tensors = {
        name: tf.constant(x, "float32")
        for name, x in arrays.items()
        if "." not in name
    }
    run = wrap(
        lambda tensors, cotangent: cases.output_and_gradients(
            attend, tensors, layers, cotangent, **options
        )
    )
    output, slopes = run(tensors, tf.constant(COTANGENT, "float32"))
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-5)
    assert slopes.keys() == expected_slopes.keys()
    for name, slope in slopes.items():
        np.testing.assert_allclose(
            slope,
            expected_slopes[name],
            rtol=1e-4,
            atol=1e-4,
            err_msg=f"gradient of {name}",
        )


def float_heads(num_kv_heads=2):
    return {
        name: tf.constant(x, "float32")
        for name, x in cases.heads_of(num_kv_heads).items()
    }


def weights_of(attend, num_queries, num_keys, **options):
    """Read off the weights of a form that returns none: the values are 1."""
    weights = attend(
        np.zeros((1, num_queries, 1, 2), "float32"),
        np.zeros((1, num_keys, 1, 2), "float32"),
        np.eye(num_keys, dtype="float32")[None, :, None],
        **options,
    )
    return weights[0, :, 0].numpy()  # (query, key)


@pytest.mark.parametrize("kv", KV_HEADS)
@pytest.mark.parametrize("feature", cases.FEATURES)
def test_matches_the_equation_and_its_gradients(attend, feature, kv):
    check_case(attend, feature, KV_HEADS[kv])


@pytest.mark.parametrize("feature", ["plain", "everything"])
def test_one_tile_matches_the_equation_too(feature):
    check_case(functools.partial(attention, implementation="tiled"), feature, 2)


@pytest.fixture
def lean(monkeypatch):
    """Dense attention that never keeps its weights for the gradient."""
    module = importlib.import_module("keras_attn.ops.attend")
    monkeypatch.setattr(module, "_DENSE_LENGTH", 0)
    monkeypatch.setattr(module, "_KEPT_WEIGHTS", 0)
    return functools.partial(attention, implementation="dense")


@pytest.mark.parametrize("feature", cases.FEATURES)
def test_weights_that_are_made_again_match_the_equation_too(lean, feature):
    check_case(lean, feature, 2)


def test_weights_that_are_made_again_are_dropped_again(lean):
    heads = float_heads()
    slopes = []
    for looks in (False, True):  # weights that are looked at are kept
        with tf.GradientTape() as tape:
            tape.watch(heads)
            output = lean(**heads, dropout=0.4, seed=3, return_weights=looks)
            output = output[0] if looks else output
        upstream = tf.constant(COTANGENT, "float32")
        slopes.append(tape.gradient(output, heads, output_gradients=upstream))
    for name in heads:
        np.testing.assert_allclose(
            slopes[0][name], slopes[1][name], rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize(
    ("implementation", "feature", "kv"),
    [
        ("dense", "alibi-sinks", "gqa"),
        pytest.param("tiled", "everything", "gqa", marks=pytest.mark.slow),
        ("tiled", "causal_window", "mha"),
        ("tiled", "mask", "mqa"),
        ("tiled", "segments-causal_window", "gqa"),
        ("tiled", "relative_bias-soft_cap", "gqa"),
        ("tiled", "rotary-sinks", "mqa"),
    ],
)
def test_matches_the_equation_under_xla(
    implementation, feature, kv, monkeypatch
):
    monkeypatch.setattr(tiled, "TILE", cases.TILE)
    check_case(
        functools.partial(attention, implementation=implementation),
        feature,
        KV_HEADS[kv],
        functools.partial(tf.function, autograph=False, jit_compile=True),
    )


@pytest.mark.parametrize("feature", ["plain", "causal_window", "everything"])
def test_lengths_and_batch_need_not_be_known(attend, feature):
    known = {"query": (2, 3), "key": (2, 3), "value": (2, 3), "bias": (0, 1)}

    def wrap(function):
        arrays, *_ = cases.expected_of(feature, 2)
        specs = {}
        for name, axes in known.items():
            if name in arrays:
                shape = [None] * 4
                for axis in axes:
                    shape[axis] = arrays[name].shape[axis]
                specs[name] = tf.TensorSpec(shape)
        cotangent = tf.TensorSpec([None, None, *COTANGENT.shape[2:]])
        return tf.function(
            function, input_signature=[specs, cotangent], autograph=False
        )

    check_case(attend, feature, 2, wrap)


def test_one_graph_serves_every_length(attend, rng):
    spec = tf.TensorSpec([None, None, 2, 4])
    graph = tf.function(
        functools.partial(attend, causal=True), input_signature=[spec] * 3
    )
    for batch, query_length, key_length in [(1, 1, 1), (3, 4, 4), (2, 1, 8)]:
        query = rng.normal(size=(batch, query_length, 2, 4)).astype("float32")
        key, value = rng.normal(size=(2, batch, key_length, 2, 4))
        expected, _ = oracle.attention(query, key, value, causal=True)
        actual = graph(query, key.astype("float32"), value.astype("float32"))
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def test_float64_is_kept(attend):
    arrays = cases.heads_of(2)
    expected, _ = oracle.attention(**arrays, mask=cases.MASK, scale=0.3)
    output = attend(**arrays, mask=cases.MASK, scale=0.3)
    assert output.dtype == "float64"
    np.testing.assert_allclose(output, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float16", 0.01), ("bfloat16", 0.08)]
)
@pytest.mark.parametrize("feature", ["plain", "mask", "everything"])
def test_half_precision_is_close_and_finite(attend, feature, dtype, tolerance):
    _, options, names, expected, expected_slopes = cases.expected_of(feature, 2)
    arrays, *_ = cases.expected_of(feature, 2)
    layers = {name: cases.layer_of(name, 2) for name in names}
    tensors = {
        name: tf.cast(x, dtype) for name, x in arrays.items() if "." not in name
    }
    output, slopes = cases.output_and_gradients(
        attend, tensors, layers, COTANGENT, **options
    )
    assert output.dtype == dtype
    np.testing.assert_allclose(
        tf.cast(output, "float32"), expected, atol=tolerance
    )
    for name, slope in slopes.items():
        assert slope.dtype == (dtype if name in tensors else "float32")
        largest = max(np.abs(expected_slopes[name]).max(), 1)
        np.testing.assert_allclose(
            tf.cast(slope, "float32"),
            expected_slopes[name],
            atol=tolerance * largest,
            err_msg=f"gradient of {name}",
        )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_large_heads_do_not_overflow(attend, dtype, rng):
    # 33 · 33 · 64 is more than the 65504 that float16 can hold.
    query, key = (rng.choice([-33.0, 33.0], (1, 7, 2, 64)) for _ in range(2))
    query[0, 0] = key[0, 0] = 33.0
    value = rng.normal(size=(1, 7, 2, 3))
    expected, _ = oracle.attention(query, key, value)
    tensors = {
        "query": tf.cast(query, dtype),
        "key": tf.cast(key, dtype),
        "value": tf.cast(value, dtype),
    }
    output, slopes = cases.output_and_gradients(
        attend, tensors, {}, np.ones(value.shape)
    )
    np.testing.assert_allclose(tf.cast(output, "float32"), expected, atol=0.02)
    for slope in slopes.values():
        assert np.isfinite(tf.cast(slope, "float32")).all()


def test_scores_far_from_zero_do_not_overflow(attend):
    query = np.full((1, 2, 1, 1), 100.0, "float32")
    key = np.array([-90.0, 3.0, -7.0, 90.0, 90.0, -1.0], "float32")
    value = np.arange(6, dtype="float32")
    sinks = modifiers.Sinks()
    output = attend(query, key[None, :, None, None], value[None, :, None, None])
    np.testing.assert_allclose(output, np.full((1, 2, 1, 1), 3.5), rtol=1e-6)
    output = attend(
        query,
        -np.abs(key)[None, :, None, None],
        value[None, :, None, None],
        modifiers=[sinks],
    )
    assert np.all(np.abs(output) < 1e-30)


NOTHING = {
    "mask": {"mask": np.zeros((BATCH, 1, QUERY, KEY), "bool")},
    "causal": {"causal": True, "query_positions": np.full((1, QUERY), -1)},
    "window": {"window": 2, "query_positions": np.full((1, QUERY), 30)},
    "bias": {"bias": np.full((1, 1, QUERY, KEY), -np.inf, "float32")},
    "segments": {
        "segments": (np.full((1, QUERY), 8), np.ones((1, KEY), "int"))
    },
}


@pytest.mark.parametrize("names", [[], ["sinks"], list(cases.MODIFIERS)])
@pytest.mark.parametrize("hidden_by", NOTHING)
def test_a_query_that_may_see_nothing_gets_zeros(attend, hidden_by, names):
    layers = {name: cases.layer_of(name, 2) for name in names}
    output, slopes = cases.output_and_gradients(
        attend, float_heads(), layers, COTANGENT, **NOTHING[hidden_by]
    )
    np.testing.assert_array_equal(output, np.zeros(output.shape))
    for name, slope in slopes.items():
        np.testing.assert_array_equal(
            slope, np.zeros(slope.shape), err_msg=f"gradient of {name}"
        )


@pytest.mark.parametrize("names", [[], ["sinks"]])
def test_one_blind_query_does_not_disturb_the_others(attend, names):
    layers = [cases.layer_of(name, 2) for name in names]
    mask = np.ones((QUERY, KEY), "bool")
    mask[2] = False
    output = attend(**float_heads(), modifiers=layers, mask=mask).numpy()
    others = attend(**float_heads(), modifiers=layers).numpy()
    np.testing.assert_array_equal(output[:, 2], 0.0)
    others[:, 2] = 0.0
    np.testing.assert_allclose(output, others, rtol=1e-6)


def test_padded_queries_get_zeros_and_give_no_gradient(attend):
    heads = float_heads()
    real = np.arange(QUERY) < np.array([[2], [QUERY]])
    assert real.shape == (BATCH, QUERY)
    cotangent = tf.constant(COTANGENT, "float32")

    def run(cotangent, **options):
        with tf.GradientTape() as tape:
            tape.watch(heads)
            output = attend(**heads, **options)
        return output, tape.gradient(output, heads, cotangent)

    output, slopes = run(cotangent, query_mask=real)
    kept = real[:, :, None, None]
    plain, expected = run(tf.where(kept, cotangent, 0.0))
    np.testing.assert_array_equal(output, np.where(kept, plain, 0.0))
    for name, slope in slopes.items():
        np.testing.assert_allclose(
            slope, expected[name], rtol=1e-5, atol=1e-6, err_msg=name
        )


@pytest.mark.parametrize("number", [np.nan, np.inf], ids=str)
def test_what_is_not_a_number_stays_where_it_is_padding(attend, number):
    """Hidden keys and values, and padded queries, are as good as zeros."""
    queries = np.arange(QUERY) < np.array([[2], [QUERY]])
    keys = np.arange(KEY) >= np.array([[3], [1]])
    real = {"query": queries, "key": keys, "value": keys}
    cotangent = tf.constant(COTANGENT, "float32")
    # Upstream there may be anything, too, where a query is padding.
    cotangent = tf.where(queries[:, :, None, None], cotangent, number)

    def run(heads):
        with tf.GradientTape() as tape:
            tape.watch(heads)
            output = attend(
                **heads, mask=keys[:, None, None], query_mask=queries
            )
        return output, tape.gradient(output, heads, cotangent)

    heads = float_heads()
    poisoned = {
        name: tf.where(real[name][:, :, None, None], x, number)
        for name, x in heads.items()
    }
    output, slopes = run(poisoned)
    expected, expected_slopes = run(heads)
    np.testing.assert_array_equal(output, expected)
    for name, slope in slopes.items():
        np.testing.assert_allclose(
            slope, expected_slopes[name], rtol=1e-5, atol=1e-6, err_msg=name
        )


def test_weights_of_padded_queries_are_zeros():
    real = np.arange(QUERY) < np.array([[2], [QUERY]])
    _, weights = attention(
        **float_heads(), query_mask=real, return_weights=True
    )
    sums = tf.reduce_sum(weights, axis=-1)  # (batch, heads, query)
    expected = np.broadcast_to(real[:, None], sums.shape)
    np.testing.assert_allclose(sums, expected, atol=1e-6)


def test_packed_documents_are_read_as_if_alone(attend, rng):
    query, key, value = rng.normal(size=(3, 1, 7, 2, 3)).astype("float32")
    packed = attend(
        query, key, value, segments=[[1, 1, 1, 2, 2, 0, 0]], causal=True
    )
    for start, end in [(0, 3), (3, 5)]:
        alone = attend(
            query[:, start:end],
            key[:, start:end],
            value[:, start:end],
            causal=True,
        )
        np.testing.assert_allclose(packed[:, start:end], alone, atol=1e-6)
    np.testing.assert_array_equal(packed[:, 5:], 0.0)


def test_no_gradient_crosses_a_segment(attend):
    heads = float_heads()
    of_query, of_key = cases.SEGMENTS
    for segment in (1, 2, 3):
        own = (of_query == segment)[:, :, None, None]
        with tf.GradientTape() as tape:
            tape.watch(heads)
            output = attend(**heads, segments=cases.SEGMENTS)
            loss = tf.reduce_sum(tf.where(own, output, 0.0))
        slopes = tape.gradient(loss, heads)
        for name in ("key", "value"):
            reached = np.any(slopes[name] != 0, axis=(2, 3))  # (batch, key)
            assert reached.any()
            assert not reached[of_key != segment].any()


@pytest.mark.parametrize("number", [np.nan, np.inf], ids=str)
def test_padding_of_packed_rows_may_hold_anything(attend, number):
    real = [(each != 0)[:, :, None, None] for each in cases.SEGMENTS]
    real = dict(zip(("query", "key", "value"), [*real, real[1]], strict=True))
    cotangent = tf.where(real["query"], COTANGENT.astype("float32"), number)

    def run(heads):
        with tf.GradientTape() as tape:
            tape.watch(heads)
            output = attend(**heads, segments=cases.SEGMENTS)
        return output, tape.gradient(output, heads, cotangent)

    heads = float_heads()
    poisoned = {k: tf.where(real[k], x, number) for k, x in heads.items()}
    output, slopes = run(poisoned)
    expected, expected_slopes = run(heads)
    np.testing.assert_array_equal(output, expected)
    np.testing.assert_array_equal(output[0, 3], 0.0)
    for name, slope in slopes.items():
        np.testing.assert_allclose(
            slope, expected_slopes[name], rtol=1e-5, atol=1e-6, err_msg=name
        )
        hidden = ~np.broadcast_to(real[name], slope.shape)
        np.testing.assert_array_equal(slope.numpy()[hidden], 0.0)


@pytest.mark.parametrize(
    ("segments", "complaint"),
    [
        (np.ones((BATCH, QUERY), "int32"), r"here \(2, 7\)"),
        (np.ones((BATCH, KEY)), "be integers"),
        ((np.ones((BATCH, QUERY), "int32"),), "a tuple of 1"),
    ],
    ids=["length", "dtype", "pair"],
)
def test_wrong_segments_are_refused(attend, segments, complaint):
    with pytest.raises(ValueError, match=f"`segments` must.*{complaint}"):
        attend(**float_heads(), segments=segments)


@pytest.mark.parametrize(
    "shape",
    [
        (),
        (KEY,),
        (QUERY, 1),
        (HEADS, 1, 1),
        (BATCH, 1, 1, KEY),
        (1, HEADS, QUERY, 1),
        (BATCH, 1, QUERY, KEY),
    ],
)
def test_mask_and_bias_broadcast(attend, shape, rng):
    mask = np.array(rng.random(shape) < 0.7)
    bias = np.array(rng.normal(size=shape))
    arrays = cases.heads_of(2)
    full = (1,) * (4 - len(shape)) + shape
    expected, _ = oracle.attention(
        **arrays, mask=mask.reshape(full), bias=bias.reshape(full)
    )
    expected_slope = oracle.gradients(
        lambda bias: oracle.attention(
            **arrays, mask=mask.reshape(full), bias=bias
        )[0],
        {"bias": bias.reshape(full)},
        COTANGENT,
    )["bias"].reshape(shape)
    tensors = {"bias": tf.constant(bias, "float32"), **float_heads()}
    output, slopes = cases.output_and_gradients(
        attend, tensors, {}, COTANGENT, mask=mask
    )
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        slopes["bias"], expected_slope, rtol=1e-4, atol=1e-4
    )


def test_a_bias_of_minus_infinity_hides(attend):
    bias = np.where(cases.MASK, 0.0, -np.inf).astype("float32")
    output, slopes = cases.output_and_gradients(
        attend, {"bias": tf.constant(bias), **float_heads()}, {}, COTANGENT
    )
    expected, expected_slopes = cases.output_and_gradients(
        attend, float_heads(), {}, COTANGENT, mask=cases.MASK
    )
    np.testing.assert_allclose(output, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(slopes.pop("bias")[~cases.MASK], 0.0)
    for name, slope in slopes.items():
        np.testing.assert_allclose(
            slope, expected_slopes[name], rtol=1e-5, atol=1e-6
        )


def test_integers_are_taken_as_a_mask(attend):
    output = attend(**float_heads(), mask=cases.MASK.astype("int32"))
    expected = attend(**float_heads(), mask=cases.MASK)
    np.testing.assert_array_equal(output, expected)


def test_the_last_query_stands_at_the_last_key(attend):
    seen = weights_of(attend, 2, 4, causal=True) > 0
    np.testing.assert_array_equal(seen, [[1, 1, 1, 0], [1, 1, 1, 1]])
    seen = weights_of(attend, 4, 2, causal=True) > 0
    np.testing.assert_array_equal(seen, [[0, 0], [0, 0], [1, 0], [1, 1]])


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_positions_that_are_not_given_follow_those_that_are(attend, dtype):
    keys, queries = np.array([[5, 6, 7]], dtype), np.array([[1, 0]], dtype)
    seen = weights_of(attend, 2, 3, causal=True, key_positions=keys) > 0
    np.testing.assert_array_equal(seen, [[1, 1, 0], [1, 1, 1]])
    seen = weights_of(attend, 2, 3, causal=True, query_positions=queries) > 0
    np.testing.assert_array_equal(seen, [[1, 1, 0], [1, 0, 0]])


def test_a_window_counts_positions(attend):
    positions = [[0, 1, 2, 3, 10]]
    options = {"query_positions": positions, "key_positions": positions}
    np.testing.assert_array_equal(
        weights_of(attend, 5, 5, window=1, **options), np.eye(5)
    )
    seen = weights_of(attend, 5, 5, window=2, **options) > 0
    np.testing.assert_array_equal(
        seen,
        [
            [1, 1, 0, 0, 0],
            [1, 1, 1, 0, 0],
            [0, 1, 1, 1, 0],
            [0, 0, 1, 1, 0],
            [0, 0, 0, 0, 1],
        ],
    )
    seen = weights_of(attend, 5, 5, window=2, causal=True, **options) > 0
    np.testing.assert_array_equal(
        seen,
        [
            [1, 0, 0, 0, 0],
            [1, 1, 0, 0, 0],
            [0, 1, 1, 0, 0],
            [0, 0, 1, 1, 0],
            [0, 0, 0, 0, 1],
        ],
    )


@pytest.mark.parametrize("window", [None, 4])
def test_every_row_may_have_its_own_positions(attend, window, rng):
    # Out of order, as a rolling cache holds them, and far apart between rows.
    positions = {
        "query_positions": np.stack(
            [rng.permutation(QUERY) + 3, rng.permutation(QUERY) + 40]
        ),
        "key_positions": np.stack(
            [rng.permutation(KEY), rng.permutation(KEY) + 38]
        ),
    }
    options = {"causal": True, "window": window, **positions}
    arrays = cases.heads_of(2)

    def function(query, key, value):
        settings = cases.MODIFIERS.items()
        return oracle.attention(
            query, key, value, modifiers=settings, **options
        )[0]

    layers = {name: cases.layer_of(name, 2) for name in cases.MODIFIERS}
    output, slopes = cases.output_and_gradients(
        attend, float_heads(), layers, COTANGENT, **options
    )
    np.testing.assert_allclose(output, function(**arrays), rtol=1e-5, atol=1e-5)
    expected = oracle.gradients(function, arrays, COTANGENT)
    for name, slope in expected.items():
        np.testing.assert_allclose(slopes[name], slope, rtol=1e-4, atol=1e-4)


def test_the_order_of_the_keys_does_not_matter(attend, rng):
    order = rng.permutation(KEY)
    layers = [cases.layer_of(name, 2) for name in cases.MODIFIERS]
    options = {"causal": True, "window": 3, "modifiers": layers}
    heads = float_heads()
    expected = attend(**heads, **options)
    heads["key"] = tf.gather(heads["key"], order, axis=1)
    heads["value"] = tf.gather(heads["value"], order, axis=1)
    output = attend(
        **heads,
        **options,
        query_positions=np.arange(KEY - QUERY, KEY)[None],
        key_positions=order[None],
    )
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)


def test_no_query_sees_the_future(attend):
    value = tf.constant(cases.heads_of(2)["value"][:, :QUERY], "float32")
    key = float_heads()["key"][:, :QUERY]
    for last in range(QUERY):
        with tf.GradientTape() as tape:
            tape.watch([key, value])
            output = attend(float_heads()["query"], key, value, causal=True)
            output = output[:, last]
        slopes = tape.gradient(output, [key, value])
        for slope in slopes:
            np.testing.assert_array_equal(slope[:, last + 1 :], 0.0)
        # The weight of one key alone is 1, whatever the key.
        for slope in slopes if last else slopes[1:]:
            assert np.any(slope[:, : last + 1])


def test_a_single_query_and_key(attend, rng):
    query, key, value = rng.normal(size=(3, 2, 1, 3, 4)).astype("float32")
    output = attend(query, key, value, causal=True)
    np.testing.assert_allclose(output, value, rtol=1e-6)


@pytest.mark.parametrize("names", [[], list(cases.MODIFIERS)])
@pytest.mark.parametrize(
    ("batch", "query_length", "key_length"), [(0, 5, 7), (2, 0, 7), (2, 5, 0)]
)
def test_empty_inputs_give_zeros(
    attend, batch, query_length, key_length, names
):
    layers = {name: cases.layer_of(name, 2) for name in names}
    tensors = {
        "query": tf.ones((batch, query_length, HEADS, DEPTH)),
        "key": tf.ones((batch, key_length, 2, DEPTH)),
        "value": tf.ones((batch, key_length, 2, 3)),
    }
    shape = (batch, query_length, HEADS, 3)
    output, slopes = cases.output_and_gradients(
        attend, tensors, layers, np.ones(shape), causal=True
    )
    np.testing.assert_array_equal(output, np.zeros(shape))
    for name, slope in slopes.items():
        np.testing.assert_array_equal(
            slope, np.zeros(slope.shape), err_msg=f"gradient of {name}"
        )


def test_looking_at_the_weights_does_not_change_the_output():
    layers = [cases.layer_of(name, 2) for name in cases.MODIFIERS]
    options = {"modifiers": layers, "mask": cases.MASK, "causal": True}
    for implementation in ("auto", "dense"):
        plain = attention(
            **float_heads(), **options, implementation=implementation
        )
        output, _ = attention(
            **float_heads(),
            **options,
            return_weights=True,
            implementation=implementation,
        )
        np.testing.assert_array_equal(output, plain)


@pytest.mark.parametrize(
    ("query_length", "key_length", "return_weights", "chosen"),
    [
        (1, 100_000, False, "dense"),
        (64, 100_000, False, "dense"),
        (512, 1024, False, "dense"),
        (512, 1025, False, "tiled"),
        (2048, 2048, True, "dense"),
        (None, 1024, False, "tiled"),
        (None, None, False, "tiled"),
        (1, None, False, "dense"),
    ],
)
def test_auto_chooses_by_size(
    query_length, key_length, return_weights, chosen, monkeypatch
):
    called = spied_implementations(monkeypatch)
    trace_attention(query_length, key_length, return_weights=return_weights)
    assert called == [chosen]


@pytest.mark.parametrize(
    ("longest", "chosen"), [(724, "dense"), (725, "tiled"), (None, "tiled")]
)
def test_auto_chooses_by_the_longest_that_a_length_can_be(
    longest, chosen, monkeypatch
):
    called = spied_implementations(monkeypatch)
    with lengths_at_most(longest):
        trace_attention(None, None)
    trace_attention(None, None)
    assert called == [chosen, "tiled"]


@pytest.mark.parametrize(
    ("batch", "heads", "lengths", "return_weights", "chosen"),
    [
        (4, 8, (512, 512), False, "dense"),
        (5, 8, (512, 512), False, "lean"),
        (5, 8, (512, 512), True, "dense"),
        (None, 8, (256, 256), False, "dense"),
        (None, 8, (256, 257), False, "lean"),
        (64, 8, (64, 10_000), False, "dense"),
    ],
)
def test_many_weights_are_not_kept(
    batch, heads, lengths, return_weights, chosen, monkeypatch
):
    called = spied_implementations(monkeypatch)
    trace_attention(
        *lengths, batch=batch, heads=heads, return_weights=return_weights
    )
    assert called == [chosen]


def spied_implementations(monkeypatch):
    """A list that grows by the name of what attention has chosen."""
    module = importlib.import_module("keras_attn.ops.attend")
    called = []

    def spy(name):
        def attend(rules, query, key, value, *args, **kwargs):
            called.append(name)
            return (query, None) if name == "dense" else query

        return attend

    for name in ("dense", "lean", "tiled"):
        monkeypatch.setattr(module, f"{name}_attention", spy(name))
    return called


def trace_attention(query_length, key_length, *, batch=1, heads=1, **options):
    """Traced, not run: nothing of this size is ever made."""
    lengths = [query_length, key_length, key_length]
    tf.function(
        lambda *heads: attention(*heads, **options)[0],
        input_signature=[tf.TensorSpec([batch, n, heads, 2]) for n in lengths],
    ).get_concrete_function()


@pytest.mark.parametrize(
    ("where", "size"),
    [("core", (512, 256)), ("tpu", (512, 512)), ("gpu", (1024, 512))],
)
def test_tiles_are_as_large_as_is_best_there(monkeypatch, where, size):
    sizes = []

    def plan(*args, tile, **options):
        sizes.append(tile)
        return Plan(*args, tile=tile, **options)

    monkeypatch.setattr(tiled, "Plan", plan)
    heads = [tf.ones((1, 3, 2, 4))] * 3
    with lowered_for(where):
        attention(*heads, implementation="tiled")
    assert sizes == [size]
