import numpy as np
import pytest

from keras_attn.models.gpt.logit_soft_cap import LogitSoftCap
from tests.contract import check_layer
from tests.contract import check_mask_goes_on


@pytest.fixture
def logits(rng):
    return 5 * rng.normal(size=(2, 3, 4)).astype("float32")


def test_contract(logits, tmp_path):
    check_layer(
        LogitSoftCap,
        {"cap": 3.0},
        {"logits": logits},
        output_shape=(2, 3, 4),
        tmp_path=tmp_path,
        padded=(),
    )


def test_matches_the_equation(logits):
    exact = logits.astype("float64")
    np.testing.assert_allclose(
        LogitSoftCap(3.0)(logits), 3 * np.tanh(exact / 3), rtol=1e-5
    )


def test_the_mask_goes_on(logits):
    check_mask_goes_on(LogitSoftCap(3.0), logits)


def test_a_cap_that_is_none_is_refused():
    with pytest.raises(
        ValueError, match=r"`logit_soft_cap` must be .* above 0"
    ):
        LogitSoftCap(0.0)
