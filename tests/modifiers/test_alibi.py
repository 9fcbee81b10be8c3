import numpy as np
import pytest
import tensorflow as tf

from keras_attn.modifiers.alibi import ALiBi


@pytest.mark.parametrize(
    ("num_heads", "slopes"),
    [(2, [2**-4, 2**-8]), (3, [2**-4, 2**-8, 2**-2])],
)
def test_the_penalty_is_linear_in_the_distance(num_heads, slopes):
    modifier = ALiBi()
    modifier.build((None, None, num_heads, 4), (None, None, 1, 4))
    queries, keys = np.array([[3, 9], [4, 0]]), np.array([[0, 4, 11]])
    bias = modifier.bias((), tf.constant(queries), tf.constant(keys))
    assert bias.shape == (2, num_heads, 2, 3)
    for b, h, q, k in np.ndindex(*bias.shape):
        distance = abs(int(queries[b, q]) - int(keys[0, k]))
        assert bias[b, h, q, k] == -slopes[h] * distance
