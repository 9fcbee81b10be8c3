import numpy as np
import pytest
import tensorflow as tf

from keras_attn.base.mask_carrier import MaskCarrier

MASK = np.array([[True, True, False]])


@pytest.mark.parametrize("jit_compile", [None, False, True])
def test_the_output_has_the_mask_that_was_given(jit_compile, rng):
    carry, seen = MaskCarrier(), []

    def call(x):
        output = carry(x, mask=tf.constant(MASK))
        seen.append(output._keras_mask is not None)
        return output, output._keras_mask

    if jit_compile is not None:
        call = tf.function(call, jit_compile=jit_compile, autograph=False)
    inputs = rng.normal(size=(1, 3, 2)).astype("float32")
    output, mask = call(tf.constant(inputs))
    assert seen == [True]
    np.testing.assert_array_equal(output, inputs)
    np.testing.assert_array_equal(mask, MASK)


def test_without_a_mask_nothing_is_said(rng):
    output = MaskCarrier()(rng.normal(size=(1, 3, 2)))
    assert getattr(output, "_keras_mask", None) is None
