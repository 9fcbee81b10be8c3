import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn import modifiers
from keras_attn.models.gpt.model import GPT
from keras_attn.models.transformer.model import Transformer
from keras_attn.ops import attention
from keras_attn.ops import masks
from keras_attn.ops.fused import fused
from keras_attn.ops.fused.target import lowered_for
from keras_attn.ops.scores import Rules
from keras_attn.training import MaskedCrossentropy

# No block divides these.
QUERY, KEY, DEPTH, VALUE_DEPTH = 150, 170, 5, 7


def heads(rng, query=QUERY, key=KEY, dtype="float32"):
    """Queries of 4 heads, and keys and values of 2."""
    shapes = (2, query, 4, DEPTH), (2, key, 2, DEPTH), (2, key, 2, VALUE_DEPTH)
    return [tf.cast(rng.normal(size=shape), dtype) for shape in shapes]


def padding():
    """Of the first row nothing is real, of the second the first 100 keys."""
    return (np.arange(KEY) < [[0], [100]])[:, None, None]


def documents():
    """Two documents in a row, and padding."""
    return np.repeat([[-1] * 70 + [-2] * 60 + [0] * 20], 2, axis=0)


def traced(function, *args):
    """A concrete function for the kernel's interpreter."""
    function = tf.function(function, jit_compile=True, autograph=False)
    with lowered_for("interpreter"):
        return function.get_concrete_function(*args)


def has_kernel(function):
    graph = function.graph.as_graph_def()
    nodes = [*graph.node]
    for each in graph.library.function:
        nodes += each.node_def
    return any(node.op == "XlaCallModule" for node in nodes)


def run(implementation, inputs, options):
    """The output, gradients of inputs and modifiers, whether by the kernel."""
    upstream = np.random.default_rng(1).normal(
        size=(2, inputs[0].shape[1], 4, VALUE_DEPTH)
    )

    def step(*inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            output = attention(
                *inputs, implementation=implementation, **options
            )
            loss = tf.reduce_sum(output * tf.cast(upstream, output.dtype))
        weights = [
            weight.value
            for modifier in options.get("modifiers", ())
            for weight in modifier.trainable_variables
        ]
        return [output, *tape.gradient(loss, [*inputs, *weights])]

    function = traced(step, *inputs)
    found = [tf.cast(x, "float32").numpy() for x in function(*inputs)]
    return found, has_kernel(function)


CASES = {
    "plain": {},
    "causal with padding": {"causal": True, "mask": padding()},
    "window": {"window": 9, "scale": 0.3},
    "causal window of documents": {
        "query": 150,
        "key": 150,
        "causal": True,
        "window": 20,
        "segments": documents(),
    },
    "modifiers": {
        "causal": True,
        "modifiers": [
            modifiers.QKNorm(),
            modifiers.Rotary(fraction=0.4),
            modifiers.SoftCap(2.0),
            modifiers.Sinks(),
        ],
    },
    "oneself alone": {"query": 130, "key": 240, "causal": True, "window": 1},
    "few queries": {"query": 3, "query_mask": np.array([[1, 0, 1]] * 2, bool)},
}


@pytest.mark.accelerator
@pytest.mark.parametrize("name", CASES)
def test_the_kernel_agrees_with_the_matrix(rng, name):
    options = dict(CASES[name])
    sizes = {k: options.pop(k) for k in ("query", "key") if k in options}
    inputs = heads(rng, **sizes)
    found, is_fused = run("fused", inputs, options)
    wanted, _ = run("dense", inputs, options)
    assert is_fused
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.accelerator
def test_queries_that_see_nothing_get_exactly_0(rng):
    (output, *gradients), _ = run(
        "fused", heads(rng), {"causal": True, "mask": padding()}
    )
    assert (output[0] == 0).all() and (output[1] != 0).all()
    for gradient in gradients:
        assert (gradient[0] == 0).all() and np.isfinite(gradient).all()


@pytest.mark.accelerator
def test_half_precision_stays_near(rng):
    inputs = heads(rng, dtype="bfloat16")
    found, is_fused = run("fused", inputs, {"causal": True})
    wanted, _ = run("dense", inputs, {"causal": True})
    assert is_fused
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.05, atol=0.05)


def trained(model_class, implementation, **sizes):
    """The weights of a model of two blocks after a step."""
    keras.utils.clear_session()
    keras.utils.set_random_seed(0)
    model = model_class(
        11,
        num_layers=2,
        num_heads=2,
        units=8,
        dropout=0.0,
        attention={"implementation": implementation},
        **sizes,
    )
    model.compile(keras.optimizers.SGD(1.0), MaskedCrossentropy())
    rows = np.random.default_rng(0).integers(1, 11, (2, 140))
    rows[0, 90:] = 0
    ids = tf.constant(rows, "int32")
    inputs = ids
    if model_class is Transformer:
        inputs = {"source": ids, "target": ids}
    function = traced(lambda x, y: model.train_step((x, y)), inputs, ids)
    function(*tf.nest.flatten([inputs, ids]))
    assert has_kernel(function) == (implementation == "fused")
    return model.get_weights()


@pytest.mark.accelerator
@pytest.mark.parametrize("model_class", [GPT, Transformer])
def test_a_training_step_is_that_of_tiles(model_class):
    fused, tiled = (trained(model_class, x) for x in ("fused", "tiled"))
    for one, other in zip(fused, tiled, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def reason(rng, dtype="float32", **options):
    """What `reason_against` says of an attention."""
    query, key, _ = heads(rng, dtype=dtype)
    given = options.pop("modifiers", ())
    for modifier in given:
        modifier.prepare(tuple(query.shape), tuple(key.shape))
    rules = Rules(
        scale=1.0,
        causal=options.pop("causal", False),
        window=options.pop("window", None),
        modifiers=tuple(given),
    )
    options = {
        "query_positions": masks.consecutive(KEY - QUERY, KEY),
        "key_positions": masks.consecutive(0, KEY),
        "bias": None,
        "mask": None,
        "dropout": 0.0,
        **options,
    }
    return fused.reason_against(rules, query, key, **options)


# Row of the table in the docstring, an attention, and part of the reason.
TABLE = [
    ("causal, window", {"causal": True, "window": 3}, ""),
    (
        "causal, window",
        {"causal": True, "query_positions": np.arange(QUERY)[None] * 2},
        "not consecutive",
    ),
    ("grouped heads, any depth, any length", {}, ""),
    ("key padding, segments", {"mask": padding()}, ""),
    ("SoftCap, Sinks", {"modifiers": [modifiers.SoftCap(2.0)]}, ""),
    ("SoftCap, Sinks", {"modifiers": [modifiers.Sinks()]}, ""),
    (
        "Rotary, QKNorm, and what changes heads alone",
        {"modifiers": [modifiers.Rotary(fraction=0.4), modifiers.QKNorm()]},
        "",
    ),
    (
        "ALiBi, RelativeBias, Locality, bias",
        {"modifiers": [modifiers.ALiBi()]},
        "ALiBi",
    ),
    (
        "ALiBi, RelativeBias, Locality, bias",
        {"modifiers": [modifiers.RelativeBias()]},
        "RelativeBias",
    ),
    (
        "ALiBi, RelativeBias, Locality, bias",
        {"modifiers": [modifiers.Locality()]},
        "Locality",
    ),
    ("ALiBi, RelativeBias, Locality, bias", {"bias": tf.zeros(4)}, "bias"),
    (
        "a mask for each query or head",
        {"mask": np.ones((2, 1, QUERY, KEY), bool)},
        "a mask for each",
    ),
    ("dropout", {"dropout": 0.1}, "dropout"),
    ("float32, bfloat16", {"dtype": "bfloat16"}, ""),
    ("other dtypes", {"dtype": "float16"}, "float16"),
    ("other dtypes", {"dtype": "float64"}, "float64"),
    (
        "queries that lie before every key",
        {"causal": True, "query_positions": masks.consecutive(-1, QUERY - 1)},
        "before every key",
    ),
    (
        "queries that lie before every key",
        {"window": 3, "query_positions": masks.consecutive(KEY, KEY + QUERY)},
        "after every key",
    ),
]


@pytest.mark.parametrize(("row", "options", "wanted"), TABLE)
def test_the_table_says_what_the_code_does(rng, row, options, wanted):
    (said,) = re.findall(
        rf"\| {re.escape(row)} \| (.*) \|", fused.reason_against.__doc__
    )
    found = reason(rng, **options)
    assert wanted in found and bool(found) == bool(wanted)
    assert said.startswith("yes") or said == "no: tiled"
    if not found:
        assert said.startswith("yes")


def test_every_row_of_the_table_is_tried():
    rows = re.findall(r"^    \| (.*?) \|", fused.reason_against.__doc__, re.M)
    assert set(rows[2:]) == {row for row, _, _ in TABLE}


def test_what_the_kernel_cannot_do_is_done_in_tiles(rng):
    inputs = heads(rng)
    options = {"modifiers": [modifiers.ALiBi()], "causal": True}
    (found, *_), is_fused = run("fused", inputs, options)
    (wanted, *_), _ = run("tiled", inputs, options)
    assert not is_fused
    np.testing.assert_array_equal(found, wanted)


def test_without_a_tpu_it_is_done_in_tiles(rng):
    inputs = heads(rng)
    np.testing.assert_array_equal(
        attention(*inputs, implementation="fused"),
        attention(*inputs, implementation="tiled"),
    )
