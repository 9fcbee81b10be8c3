import numpy as np
import pytest

from keras_attn.models.sequence_regressor.step_pooling import StepPooling
from tests.contract import check_layer


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(3, 5, 4)).astype("float32")


@pytest.mark.parametrize("kind", ["mean", "last"])
def test_contract(kind, inputs, tmp_path):
    check_layer(
        StepPooling,
        {"kind": kind},
        {"inputs": inputs},
        output_shape=(3, 4),
        tmp_path=tmp_path,
    )


def test_matches_the_equation(inputs):
    mask = np.arange(5) < np.array([[3], [5], [0]])
    mean = StepPooling("mean", dtype="float64")(inputs, mask=mask)
    last = StepPooling("last", dtype="float64")(inputs, mask=mask)
    x = inputs.astype("float64")
    np.testing.assert_allclose(mean[0], x[0, :3].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(mean[1], x[1].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(last[:2], [x[0, 2], x[1, 4]], rtol=1e-12)
    assert not np.any(mean[2])
    assert not np.any(last[2])


def test_the_last_step_is_the_last_that_is_seen(inputs):
    mask = [[True, False, True, False, False]] * 3
    output = StepPooling("last")(inputs, mask=np.array(mask))
    np.testing.assert_array_equal(output, inputs[:, 2])


def test_another_kind_is_refused():
    with pytest.raises(ValueError, match="`kind` must be one of"):
        StepPooling("max")
