import keras
import numpy as np
import pytest

from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.attention.projected import project_each


@pytest.fixture
def layer():
    layer = MultiHeadAttention(2, 3, value_dim=4, name="looks")
    layer.build((None, None, 6), (None, None, 6))
    layer.set_weights([np.random.normal(size=w.shape) for w in layer.weights])
    return layer


@pytest.fixture
def sequence(rng):
    return keras.ops.convert_to_tensor(rng.normal(size=(2, 5, 6)), "float32")


def test_projections_are_linear_maps_of_the_last_axes(layer, sequence):
    heads = layer.value_dense(sequence)
    kernel, bias = layer.value_dense.get_weights()
    expected = np.einsum("btf,fhd->bthd", sequence, kernel) + bias
    np.testing.assert_allclose(heads, expected, atol=1e-5)

    kernel, bias = layer.output_dense.get_weights()
    expected = np.einsum("bthd,hdf->btf", heads, kernel) + bias
    np.testing.assert_allclose(layer.output_dense(heads), expected, atol=1e-5)


def test_one_initializer_makes_different_numbers_for_each_projection():
    initializer = keras.initializers.RandomNormal()
    layer = MultiHeadAttention(2, 3, kernel_initializer=initializer)
    layer.build((None, None, 6), (None, None, 6))
    query, key = layer.query_dense.kernel, layer.key_dense.kernel
    assert np.abs(query - key).max() > 1e-3


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


def test_a_mask_upstream_reaches_the_projections_without_a_warning():
    embedding = keras.layers.Embedding(5, 6, mask_zero=True)
    x, y = (embedding(np.array([[1, 2, 0]])) for _ in range(2))
    MultiHeadAttention(2, 3)(x, y)  # warnings are errors


def test_the_config_tells_which_projections_are_quantised(layer):
    assert layer.get_config()["dtype"]["config"] == {"name": "float32"}
    layer.key_dense.quantize("int8")
    twin = MultiHeadAttention.from_config(layer.get_config())
    twin.build((None, None, 6), (None, None, 6))
    assert twin.key_dense.quantization_mode == "int8"
    assert twin.query_dense.quantization_mode is None
    assert twin.get_config() == layer.get_config()
