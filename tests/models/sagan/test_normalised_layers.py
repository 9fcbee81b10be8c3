import numpy as np
import pytest

from keras_attn.models.sagan import normalised_layers as normalised


@pytest.mark.parametrize(
    ("make", "shape", "name", "dtype"),
    [
        (normalised.dense, (2, 3), "kernel", "float32"),
        (
            lambda units, *given: normalised.convolution(units, 3, *given),
            (2, 4, 4, 3),
            "kernel",
            "float32",
        ),
        (
            lambda units, *given: normalised.embedding(4, units, *given),
            (2,),
            "embeddings",
            "int32",
        ),
    ],
    ids=["dense", "convolution", "embedding"],
)
def test_layers_stretch_nothing_by_more_than_one(make, shape, name, dtype):
    layer = make(5, "layer", None)
    for _ in range(50):
        output = layer(np.ones(shape, dtype), training=True)
    assert output.shape[-1] == 5
    weight = np.array(getattr(layer.layer, name)).reshape(-1, 5)
    largest = np.linalg.svd(weight, compute_uv=False)[0]
    u = np.array(layer.u)
    assert np.linalg.norm(weight @ u) == pytest.approx(largest, rel=1e-2)


def test_attention_is_named_after_its_grid():
    layer = normalised.attention(16, "paper", None)
    assert layer.name == "attention_16" and layer.form == "paper"
    assert layer.spectral_normalization


def test_widths_are_those_of_the_released_code_at_128():
    assert [normalised.growth(128, r) for r in (4, 8, 16, 32, 64, 128)] == [
        *(16, 16, 8, 4, 2, 1),
    ]
