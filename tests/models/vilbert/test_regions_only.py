import numpy as np
import tensorflow as tf

from keras_attn.models.vilbert.regions_only import RegionsOnly
from tests.contract import check_layer


def test_contract(rng, tmp_path):
    check_layer(
        RegionsOnly,
        {},
        {"inputs": rng.normal(size=(2, 4, 3)).astype("float32")},
        output_shape=(2, 3, 3),
        tmp_path=tmp_path,
        padded=(),
    )


def test_the_first_and_its_mask_are_left_out(rng):
    inputs = tf.constant(rng.normal(size=(1, 3, 2)))
    inputs._keras_mask = tf.constant([[True, True, False]])
    output = RegionsOnly(dtype="float64")(inputs)
    np.testing.assert_array_equal(output, inputs[:, 1:])
    np.testing.assert_array_equal(output._keras_mask, [[True, False]])
