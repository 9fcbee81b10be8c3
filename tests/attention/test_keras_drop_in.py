"""What works with Keras' multi-head attention works with ours."""

import inspect

import keras
import numpy as np
import pytest

from keras_attn.attention.multi_head import MultiHeadAttention

KERAS = keras.layers.MultiHeadAttention
KNOWN = inspect.signature(KERAS).parameters  # older ones know fewer


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def boolean(seed, *shape):
    mask = np.random.default_rng(seed).random(shape) < 0.6
    mask[..., 0] = True  # no empty row: Keras has two answers for those
    return mask


QUERY, VALUE, KEY = normal(0, 2, 3, 7), normal(1, 2, 5, 6), normal(2, 2, 5, 8)
IMAGE, OTHER = normal(3, 2, 3, 4, 6), normal(4, 2, 3, 5, 7)
TWO = {"query": QUERY, "value": VALUE}
SELF = {"query": VALUE, "value": VALUE}
TWO_IMAGES = {"query": IMAGE, "value": OTHER}


def twins(init, call):
    """Make Keras' layer and ours with the same numbers."""
    if not init.keys() <= KNOWN.keys():
        pytest.skip(f"this Keras lacks one of {sorted(init)}")
    twins = []
    for cls in (KERAS, MultiHeadAttention):
        keras.utils.set_random_seed(1)
        layer = cls(**{"num_heads": 2, "key_dim": 4, "name": "looks", **init})
        layer(**call)
        twins.append(layer)
    theirs, ours = twins
    weights = [normal(i, *w.shape) for i, w in enumerate(theirs.get_weights())]
    theirs.set_weights(weights)
    ours.set_weights(weights)
    return theirs, ours


def assert_same(theirs, ours, call):
    expected = keras.tree.flatten(theirs(**call))
    for found, wanted in zip(
        keras.tree.flatten(ours(**call)), expected, strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=2e-5)


def model(cls, **init):
    x = keras.Input((None, 6), name="x")
    return keras.Model(x, cls(2, 4, name="looks", **init)(x, x))


def test_arguments_are_those_of_keras_in_their_order():
    ours = list(inspect.signature(MultiHeadAttention).parameters)
    theirs = [name for name in KNOWN if name != "kwargs"]
    assert [name for name in ours if name in theirs] == theirs
    extra = set(ours) - set(theirs) - {"sliding_window", "use_gate"}
    assert extra == {
        *("num_kv_heads", "modifiers", "implementation"),
        *("use_output_bias", "kwargs"),
    }
    *ours, last = inspect.signature(MultiHeadAttention.call).parameters
    assert ours == list(inspect.signature(KERAS.call).parameters)
    assert last == "segments"


@pytest.mark.parametrize(
    ("init", "call"),
    [
        ({}, TWO),
        ({}, SELF),
        ({}, {**TWO, "key": KEY}),
        ({"value_dim": 3, "use_bias": False}, TWO),
        ({"output_shape": 5}, TWO),
        ({"output_shape": (3, 5)}, TWO),
        ({"dropout": 0.5}, TWO),
        ({"sliding_window": 2}, SELF),
        ({"sliding_window": 3}, {**TWO, "use_causal_mask": True}),
        ({"use_gate": True, "value_dim": 3}, TWO),
        ({}, {**TWO, "use_causal_mask": True}),
        ({}, {**TWO, "return_attention_scores": True}),
        ({}, {**TWO, "attention_mask": boolean(5, 2, 3, 5)}),
        ({}, {**TWO, "attention_mask": boolean(5, 2, 3, 5).astype("int32")}),
        ({}, {**TWO, "attention_mask": boolean(5, 2, 3, 5).astype("f")}),
        ({}, {**TWO, "attention_mask": boolean(5, 2, 3, 5).tolist()}),
        ({}, {**TWO, "attention_mask": boolean(5, 3, 5)}),
        ({}, {**TWO, "attention_mask": boolean(5, 2, 2, 3, 5)}),
        ({}, {**TWO, "attention_mask": boolean(5, 1, 1, 3, 5)}),
        ({}, {**TWO, "value_mask": boolean(5, 2, 5)}),
        ({}, {**TWO, "key": KEY, "key_mask": boolean(5, 2, 5)}),
    ],
)
def test_gives_what_keras_gives(init, call):
    assert_same(*twins(init, call), call)


@pytest.mark.parametrize(
    ("axes", "call"),
    [
        (None, TWO_IMAGES),
        (2, TWO_IMAGES),
        ([-2], TWO_IMAGES),
        ((2, 1), TWO_IMAGES),
        (1, {"query": IMAGE, "value": normal(5, 2, 8, 4, 7)}),
        (1, {"query": IMAGE, "value": IMAGE, "use_causal_mask": True}),
        (2, {**TWO_IMAGES, "attention_mask": boolean(6, 2, 3, 4, 5)}),
        (2, {**TWO_IMAGES, "attention_mask": boolean(6, 2, 4, 5)}),
        (2, {**TWO_IMAGES, "value_mask": boolean(6, 2, 3, 5)}),
        (1, {"query": IMAGE, "value": IMAGE, "value_mask": boolean(6, 2, 3)}),
        (None, {**TWO_IMAGES, "attention_mask": boolean(6, 2, 3, 4, 3, 5)}),
    ],
)
def test_gives_what_keras_gives_over_axes(axes, call):
    call = {**call, "return_attention_scores": True}
    theirs, ours = twins({"attention_axes": axes}, call)
    assert_same(theirs, ours, call)
    assert ours.attention_axes == theirs.attention_axes


@pytest.mark.parametrize("gate", [False, True], ids=["plain", "gated"])
def test_the_same_seed_makes_the_same_weights(gate):
    init = {"use_gate": True} if gate else {}
    if not init.keys() <= KNOWN.keys():
        pytest.skip("this Keras has no gate")
    layers = []
    for cls in (KERAS, MultiHeadAttention):
        keras.utils.set_random_seed(3)
        layers.append(cls(2, 4, value_dim=5, dropout=0.1, name="looks", **init))
        layers[-1](**TWO)
    theirs, ours = layers
    assert [w.path for w in ours.weights] == [w.path for w in theirs.weights]
    assert len(ours.variables) == len(theirs.variables)
    for found, wanted in zip(
        ours.get_weights(), theirs.get_weights(), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


def test_has_the_properties_that_users_read():
    theirs, ours = twins({"value_dim": 3, "dropout": 0.2}, TWO)
    for name in (
        "num_heads",
        "key_dim",
        "value_dim",
        "dropout",
        "use_bias",
        "attention_axes",
    ):
        assert getattr(ours, name) == getattr(theirs, name)
    for name in ("query_dense", "key_dense", "value_dense", "output_dense"):
        assert getattr(ours, name).name == getattr(theirs, name).name
    shapes = (QUERY.shape, VALUE.shape, KEY.shape)
    assert ours.compute_output_shape(*shapes) == (2, 3, 7)


def test_takes_the_config_of_keras():
    config = KERAS(2, 4, dropout=0.1, kernel_initializer="zeros").get_config()
    ours = MultiHeadAttention.from_config(config).get_config()
    assert {name: ours[name] for name in config} == config


@pytest.mark.parametrize("ending", ["weights.h5", "keras"])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("gate", [False, True], ids=["plain", "gated"])
def test_files_go_both_ways(gate, dropout, ending, tmp_path):
    init = {"dropout": dropout, **({"use_gate": True} if gate else {})}
    if not init.keys() <= KNOWN.keys():
        pytest.skip("this Keras has no gate")
    file = tmp_path / f"saved.{ending}"
    for source, target in [
        (KERAS, MultiHeadAttention),
        (MultiHeadAttention, KERAS),
    ]:
        saved, loaded = model(source, **init), model(target, **init)
        if ending == "keras":
            saved.save(file)
        else:
            saved.save_weights(file)
        loaded.load_weights(file)
        np.testing.assert_allclose(loaded(VALUE), saved(VALUE), atol=1e-6)


def test_lora_learns_and_is_merged_when_saved(tmp_path):
    adapted = model(MultiHeadAttention)
    before = adapted(VALUE)
    layer = adapted.get_layer("looks")
    for dense in (layer.query_dense, layer.value_dense, layer.output_dense):
        dense.enable_lora(2)
    np.testing.assert_allclose(adapted(VALUE), before, atol=1e-6)
    assert "looks/query/kernel" not in {
        weight.path for weight in adapted.trainable_weights
    }
    adapted.compile("sgd", "mse")
    adapted.fit(VALUE, np.zeros_like(VALUE), epochs=2, verbose=0)
    after = adapted(VALUE)
    assert np.abs(after - before).max() > 1e-4
    adapted.save(tmp_path / "adapted.keras")
    loaded = keras.saving.load_model(tmp_path / "adapted.keras")
    np.testing.assert_allclose(loaded(VALUE), after, atol=1e-6)


def by_model(model):
    model.quantize("int8")


def by_layer(model):
    model.get_layer("looks").quantize("int8")


def by_policy(model):
    model.get_layer("looks").dtype_policy = "int8_from_float32"


# Keras warns of every layer that has nothing to quantise.
@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`")
@pytest.mark.parametrize("quantize", [by_model, by_layer, by_policy])
def test_quantised_like_keras_and_saved(quantize, tmp_path):
    theirs, ours = model(KERAS), model(MultiHeadAttention)
    ours.set_weights(theirs.get_weights())
    exact = ours(VALUE)
    theirs.quantize("int8")
    quantize(ours)
    assert ours.get_layer("looks").query_dense.kernel.dtype == "int8"
    rounded = ours(VALUE)
    np.testing.assert_allclose(rounded, theirs(VALUE), atol=1e-6)
    assert 0 < np.abs(rounded - exact).max() < 0.1

    ours.save(tmp_path / "quantised.keras")
    loaded = keras.saving.load_model(tmp_path / "quantised.keras")
    assert loaded.get_layer("looks").query_dense.kernel.dtype == "int8"
    np.testing.assert_allclose(loaded(VALUE), rounded, atol=1e-6)


def test_made_with_a_quantised_policy(tmp_path):
    made = model(MultiHeadAttention, dtype="int8_from_float32")
    assert made.get_layer("looks").output_dense.kernel.dtype == "int8"
    made.save(tmp_path / "quantised.keras")
    loaded = keras.saving.load_model(tmp_path / "quantised.keras")
    np.testing.assert_allclose(loaded(VALUE), made(VALUE), atol=1e-6)


def test_made_with_a_map_of_policies(tmp_path):
    policies = keras.dtype_policies.DTypePolicyMap(
        "float32",
        {
            "looks/query": keras.dtype_policies.get("mixed_bfloat16"),
            "looks/key": keras.dtype_policies.get("int8_from_float32"),
        },
    )
    made = model(MultiHeadAttention, dtype=policies)
    layer = made.get_layer("looks")
    assert layer.query_dense.compute_dtype == "bfloat16"
    assert layer.key_dense.kernel.dtype == "int8"
    assert layer.value_dense.kernel.dtype == "float32"
    made.save(tmp_path / "mapped.keras")
    loaded = keras.saving.load_model(tmp_path / "mapped.keras")
    np.testing.assert_allclose(loaded(VALUE), made(VALUE), atol=1e-6)
