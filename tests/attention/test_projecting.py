import keras
import numpy as np
import pytest

from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.attention.projecting import project_each


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
