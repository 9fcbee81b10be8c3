import numpy as np
import pytest
import tensorflow as tf

from keras_attn.modifiers.soft_cap import SoftCap


def test_the_score_is_bounded_by_a_hyperbolic_tangent():
    scores = np.array([-1e9, -3.0, 0.0, 0.01, 60.0])
    np.testing.assert_allclose(
        SoftCap(2.5).cap_scores(tf.constant(scores)),
        2.5 * np.tanh(scores / 2.5),
        rtol=1e-12,
    )


@pytest.mark.parametrize("cap", [0, -1.0])
def test_rejects_a_cap_that_is_not_above_zero(cap):
    with pytest.raises(ValueError, match=f"`cap`.*Received: cap={cap}"):
        SoftCap(cap)
