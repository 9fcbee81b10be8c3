import numpy as np
import pytest

from keras_attn.embeddings.one_hot import OneHot
from tests.contract import check_layer

IDS = np.array([[3, 1, 0, 0], [4, 2, 5, 0], [1, 1, 6, 2]], "int32")


def test_contract(tmp_path):
    check_layer(
        OneHot,
        {"vocabulary_size": 7, "pad_id": None},
        {"inputs": IDS},
        output_shape=(3, 4, 7),
        tmp_path=tmp_path,
        padded=(),  # ids are where padding begins
    )


@pytest.mark.parametrize("ids", [IDS, IDS[:, 0]], ids=["batch", "step"])
def test_matches_the_equation(ids):
    np.testing.assert_array_equal(OneHot(7)(ids), np.eye(7)[ids])


def test_padding_is_masked():
    np.testing.assert_array_equal(
        OneHot(7, pad_id=1)(IDS)._keras_mask, IDS != 1
    )
    assert not hasattr(OneHot(7, pad_id=None)(IDS), "_keras_mask")
