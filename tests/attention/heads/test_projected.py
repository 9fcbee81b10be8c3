import keras
import numpy as np
import pytest

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


@pytest.mark.parametrize(
    ("init", "biases"),
    [
        ({}, [True] * 4),
        ({"use_bias": False}, [False] * 4),
        (
            {"use_bias": False, "use_output_bias": True},
            [False, False, False, True],
        ),
        ({"use_output_bias": False}, [True, True, True, False]),
    ],
    ids=["all", "none", "output", "heads"],
)
def test_the_output_may_differ_from_the_heads_in_having_a_bias(init, biases):
    layer = MultiHeadAttention(2, 3, **init)
    layer.build((None, None, 6), (None, None, 6))
    found = [each.bias is not None for each in layer.projections()]
    assert found == biases


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
