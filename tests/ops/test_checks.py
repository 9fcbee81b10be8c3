import numpy as np
import pytest
import tensorflow as tf

from keras_attn.modifiers import Sinks
from keras_attn.ops import attention
from keras_attn.ops import checks

BATCH, QUERY, KEY, HEADS, DEPTH = 2, 3, 5, 6, 4


def call(**changes):
    given = {
        "query": np.ones((BATCH, QUERY, HEADS, DEPTH), "float32"),
        "key": np.ones((BATCH, KEY, 2, DEPTH), "float32"),
        "value": np.ones((BATCH, KEY, 2, 7), "float32"),
    }
    return attention(**{**given, **changes})


def ones(*shape):
    return np.ones(shape, "float32")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"query": ones(2, 3, 4)}, r"`query` must have 4 axes.*\(2, 3, 4\)"),
        ({"key": ones(2, 5, 4)}, r"`key` must have 4 axes.*\(2, 5, 4\)"),
        ({"value": ones(5)}, r"`value` must have 4 axes.*\(5,\)"),
        (
            {"key": ones(2, 5, 4, 4), "value": ones(2, 5, 4, 7)},
            r"heads of `key` must divide.*\(2, 3, 6, 4\).*\(2, 5, 4, 4\)",
        ),
        ({"value": ones(2, 5, 3, 7)}, "`key` and `value`.*heads.*Received"),
        ({"key": ones(2, 5, 2, 3)}, "`query` and `key`.*depth.*Received"),
        ({"value": ones(2, 4, 2, 7)}, "`key` and `value`.*length.*Received"),
        ({"value": ones(1, 5, 2, 7)}, "`key` and `value`.*batch.*Received"),
        ({"query": ones(4, 3, 6, 4)}, "`query` and `key`.*batch.*Received"),
    ],
)
def test_heads_that_do_not_fit_are_refused(changes, match):
    with pytest.raises(ValueError, match=match):
        call(**changes)


def test_heads_must_be_known_when_the_graph_is_made():
    spec = tf.TensorSpec([None, None, None, 4])
    with pytest.raises(ValueError, match=r"heads.*`query` must be known"):
        tf.function(
            attention, input_signature=[spec, spec, spec]
        ).get_concrete_function()


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"window": 0}, "`window`.*at least 1.*window=0"),
        ({"window": -2}, "`window`.*window=-2"),
        ({"window": 1.5}, "`window`.*integer.*window=1.5"),
        ({"implementation": "flash"}, "`implementation`.*'tiled'.*'flash'"),
        ({"dropout": None}, "`dropout`.*dropout=None"),
        ({"dropout": 1.0, "seed": 0}, "`dropout`.*less than 1.*dropout=1.0"),
        ({"dropout": -0.1, "seed": 0}, "`dropout`.*dropout=-0.1"),
        ({"scale": tf.constant(2.0)}, "`scale` must be a number.*`query`"),
        (
            {"implementation": "tiled", "return_weights": True},
            "`return_weights=True`.*'tiled'.*Use 'dense' or 'auto'",
        ),
    ],
)
def test_settings_without_meaning_are_refused(changes, match):
    with pytest.raises(ValueError, match=match):
        call(**changes)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"modifiers": [Sinks(), Sinks()]}, "`modifiers`.*one `Sinks`"),
        ({"modifiers": ["rotary"]}, "`modifiers`.*'rotary'.*modifiers.get"),
        ({"modifiers": "rotary"}, "`modifiers`.*'rotary'.*modifiers.get"),
        ({"modifiers": [Sinks]}, "`modifiers`.*Received: .*Sinks"),
    ],
)
def test_modifiers_that_are_none_are_refused(changes, match):
    with pytest.raises(ValueError, match=match):
        call(**changes)


def test_a_lone_modifier_needs_no_list():
    sinks = Sinks()
    np.testing.assert_array_equal(
        call(modifiers=sinks), call(modifiers=[sinks])
    )


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_a_floating_point_mask_of_other_numbers_is_refused(dtype):
    mask = tf.fill((QUERY, KEY), tf.constant(-100.0, dtype))
    with pytest.raises(ValueError, match=f"`mask`.*{dtype}.*`bias`"):
        call(mask=mask)


@pytest.mark.parametrize("name", ["mask", "bias"])
@pytest.mark.parametrize(
    "shape",
    [
        (BATCH, KEY),  # a padding mask without its two axes
        (BATCH, QUERY, KEY),
        (BATCH, HEADS, KEY, QUERY),
        (4, 1, 1, KEY),
        (1, BATCH, HEADS, QUERY, KEY),
        (1, 2, 1, 1),  # as many heads as keys have
    ],
)
def test_what_does_not_broadcast_is_refused(name, shape):
    given = np.ones(shape, "bool" if name == "mask" else "float32")
    with pytest.raises(ValueError, match=f"`{name}` must broadcast") as error:
        call(**{name: given})
    assert str(shape) in str(error.value)
    assert str((BATCH, HEADS, QUERY, KEY)) in str(error.value)


@pytest.mark.parametrize(
    ("name", "length"), [("query_positions", QUERY), ("key_positions", KEY)]
)
def test_positions_of_another_kind_are_refused(name, length):
    with pytest.raises(ValueError, match=f"`{name}`.*integers.*float32"):
        call(**{name: np.zeros((1, length), "float32")})
    for shape in [(length,), (1, length + 1), (3, length), (1, 1, length)]:
        with pytest.raises(ValueError, match=f"`{name}`.*batch or 1") as error:
            call(**{name: np.zeros(shape, "int32")})
        assert str(shape) in str(error.value)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_numbers_up_to_a_limit_pass(dtype):
    given = np.array([[3, 4], [-1, 5]], dtype)
    np.testing.assert_array_equal(checks.at_most(given, 5, "No."), given)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Say why"):
        checks.at_most(given, 4, "Say why.")


def test_a_number_known_before_the_graph_is_refused_before_it():
    assert checks.at_most(5, 5, "No.") == 5
    with pytest.raises(ValueError, match=r"Say why\. Received: 6"):
        checks.at_most(6, 5, "Say why.")


def test_a_number_known_only_to_the_graph_is_refused_when_it_runs():
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def length(x):
        return checks.at_most(tf.shape(x)[0], 4, "Say why.")

    assert length(tf.ones(4)) == 4
    with pytest.raises(tf.errors.InvalidArgumentError, match="Say why"):
        length(tf.ones(5))
