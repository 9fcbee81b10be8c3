import numpy as np

from keras_attn.modifiers.sinks import Sinks
from keras_attn.ops import attention


def test_a_sink_takes_its_share_and_looks_at_nothing():
    modifier = Sinks()
    query, key = np.zeros((1, 1, 2, 3), "f"), np.zeros((1, 4, 2, 3), "f")
    value = np.ones((1, 4, 2, 3), "f")
    modifier.build(query.shape, key.shape)
    modifier.scores.assign([np.log(4.0), np.log(12.0)])
    output, weights = attention(
        query, key, value, modifiers=[modifier], return_weights=True
    )
    np.testing.assert_allclose(weights[0, 0], np.full((1, 4), 1 / 8), rtol=1e-6)
    np.testing.assert_allclose(
        weights[0, 1], np.full((1, 4), 1 / 16), rtol=1e-6
    )
    np.testing.assert_allclose(output[0, 0, :, 0], [1 / 2, 1 / 4], rtol=1e-6)


def test_a_new_sink_weighs_as_much_as_a_score_of_zero():
    modifier = Sinks()
    modifier.build((None, None, 3, 4), (None, None, 1, 4))
    np.testing.assert_array_equal(
        modifier.sinks(modifier.parameters()), [0] * 3
    )
