import numpy as np
import pytest

from keras_attn.models.bert.position_logits import PositionLogits
from tests.contract import check_layer

BATCH, LENGTH, FEATURES = 2, 5, 3


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(BATCH, LENGTH, FEATURES)).astype("float32")


def test_contract(inputs, tmp_path):
    check_layer(
        PositionLogits,
        {},
        {"inputs": inputs},
        output_shape=(BATCH, LENGTH),
        tmp_path=tmp_path,
    )


def test_matches_the_equation(inputs):
    layer = PositionLogits()
    layer.build(inputs.shape)
    layer.dense.bias.assign([0.5])
    expected = inputs @ layer.dense.kernel.numpy()[:, 0] + 0.5
    np.testing.assert_allclose(layer(inputs), expected, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_padding_is_finite_and_below_all(dtype, inputs):
    mask = np.array([[True] * 4 + [False], [True] * LENGTH])
    logits = PositionLogits(dtype=dtype)(inputs, mask=mask)
    logits = np.array(logits, "float32")
    assert np.isfinite(logits).all()
    assert logits[0, 4] < -6e4 and logits[mask].min() > -1e2


def test_the_output_carries_no_mask():
    """A loss of one number for each row has no positions to leave out."""
    assert PositionLogits().compute_mask(None, mask=[[True]]) is None
