import numpy as np

from keras_attn.models.logits_bias import LogitsBias
from tests.contract import check_layer
from tests.contract import check_mask_goes_on


def test_contract(rng, tmp_path):
    check_layer(
        LogitsBias,
        {},
        {"logits": rng.normal(size=(2, 3, 4)).astype("float32")},
        output_shape=(2, 3, 4),
        tmp_path=tmp_path,
        padded=(),
    )


def test_starts_at_zero_and_adds_to_each_token(rng):
    layer, logits = LogitsBias(), rng.normal(size=(2, 3, 4)).astype("float32")
    np.testing.assert_array_equal(layer(logits), logits)
    c = rng.normal(size=4).astype("float32")
    layer.bias.assign(c)
    np.testing.assert_allclose(layer(logits), logits + c, rtol=1e-6)


def test_the_mask_goes_on(rng):
    logits = rng.normal(size=(2, 3, 4)).astype("float32")
    check_mask_goes_on(LogitsBias(), logits)
