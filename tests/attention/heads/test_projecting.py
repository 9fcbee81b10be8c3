import keras
import numpy as np
import pytest

from keras_attn.attention.heads.projecting import output_rows
from keras_attn.attention.heads.projecting import project_each
from keras_attn.attention.heads.projecting import project_query
from keras_attn.attention.heads.projecting import project_rows
from keras_attn.attention.multi_head import MultiHeadAttention


@pytest.fixture
def layer():
    layer = MultiHeadAttention(2, 3, value_dim=4, name="looks")
    layer.build((None, None, 6), (None, None, 6))
    layer.set_weights([np.random.normal(size=w.shape) for w in layer.weights])
    return layer


@pytest.fixture
def sequence(rng):
    return keras.ops.convert_to_tensor(rng.normal(size=(2, 5, 6)), "float32")


def test_the_same_input_is_projected_in_one_product(layer, sequence):
    projections = (layer.query_dense, layer.key_dense, layer.value_dense)
    called = []
    for projection in projections:
        # Whether it is called is what is asked here; what it gives is above.
        projection.call = lambda x, call=projection.call: (
            called.append(1),
            call(x),
        )[1]
    together = project_each([sequence] * 3, projections)
    assert not called
    copies = [keras.ops.copy(sequence) for _ in projections]
    for one, each in zip(
        together, project_each(copies, projections), strict=True
    ):
        np.testing.assert_allclose(one, each, atol=1e-5)
    assert len(called) == 3


def lora(layer):
    layer.key_dense.enable_lora(1)
    layer.key_dense.lora_kernel_b.assign(np.ones((1, 3)))


def activity(layer):
    layer.key_dense.activity_regularizer = keras.regularizers.L2(1.0)


def quantized(layer):
    layer.key_dense.quantize("int8")


@pytest.mark.parametrize("change", [lora, activity, quantized])
def test_a_projection_that_is_more_than_linear_is_called(
    change, layer, sequence
):
    projections = (layer.query_dense, layer.key_dense, layer.value_dense)
    change(layer)
    found = project_each([sequence] * 3, projections)
    for heads, projection in zip(found, projections, strict=True):
        np.testing.assert_array_equal(heads, projection(sequence))
    assert bool(layer.losses) == (change is activity)


def test_a_projection_keeps_its_own_precision(sequence):
    policies = keras.dtype_policies.DTypePolicyMap(
        "float32", {"looks/key": keras.dtype_policies.get("mixed_bfloat16")}
    )
    layer = MultiHeadAttention(2, 3, name="looks", dtype=policies)
    layer.build((None, None, 6), (None, None, 6))
    projections = (layer.query_dense, layer.key_dense, layer.value_dense)
    found = project_each([sequence] * 3, projections)
    assert [x.dtype.name for x in found] == ["float32", "bfloat16", "float32"]


@pytest.mark.parametrize("change", [None, lora, activity, quantized])
def test_the_rows_of_a_step_are_projected_as_a_sequence_is(
    change, layer, sequence
):
    if change:
        change(layer)
        if change is lora:
            change_output = layer.output_dense
            change_output.enable_lora(2)
            change_output.lora_kernel_b.assign(np.ones((2, 6)))
        elif change is quantized:
            layer.output_dense.quantize("int8")
    projections = (layer.query_dense, layer.key_dense, layer.value_dense)
    rows = sequence[:, 2]
    for found, projection in zip(
        project_rows(rows, projections), projections, strict=True
    ):
        expected = projection(rows[:, None])
        np.testing.assert_allclose(
            found, np.reshape(expected, (2, -1)), atol=1e-5
        )
    heads = keras.ops.concatenate([rows, rows[:, :2]], axis=1)  # 2 of depth 4
    expected = layer.output_dense(np.reshape(heads, (2, 1, 2, 4)))[:, 0]
    found = output_rows(heads, layer.output_dense, 4)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_what_follows_a_projection_is_not_left_out(sequence):
    layer = MultiHeadAttention(2, 3, use_gate=True, output_shape=(4, 5))
    layer.build((None, None, 6), (None, None, 6))
    (gate,) = project_rows(sequence[:, 0], [layer._gate_dense])
    expected = layer._gate_dense(sequence[:, :1])
    np.testing.assert_allclose(gate, np.reshape(expected, (2, 6)), atol=1e-6)
    found = output_rows(gate, layer.output_dense, 3)
    assert found.shape == (2, 4, 5)
    np.testing.assert_allclose(
        found, layer.output_dense(expected)[:, 0], atol=1e-6
    )


@pytest.mark.parametrize("queries", [1, 5])
@pytest.mark.parametrize("mode", [None, "int8"])
def test_queries_are_projected_as_their_layer_does(mode, queries, sequence):
    dense = keras.layers.Dense(4, bias_initializer="normal")
    dense.build((None, None, 6))
    if mode is not None:
        dense.quantize(mode)
    query = sequence[:, :queries]
    np.testing.assert_allclose(
        project_query(query, dense), dense(query), atol=1e-6
    )
