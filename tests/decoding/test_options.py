"""The ranges of sampling's options."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding import options

BAD = {
    "temperature": [-0.1, np.nan, np.inf],
    "top_k": [-1, 1.5],
    "top_p": [0.0, 1.1],
    "min_p": [-0.1, 1.1],
    "repetition_penalty": [0.0, -1.0],
}
GOOD = {
    "temperature": [0, 2.5],
    "top_k": [0, 9],
    "top_p": [0.1, 1],
    "min_p": [0, 1],
    "repetition_penalty": [0.5, 2],
}


@pytest.mark.parametrize("name", options.RANGES)
def test_values_out_of_range_get_a_sentence(name):
    for good in GOOD[name]:
        options.check(name, good)
    for bad in BAD[name]:
        for value in (bad, [GOOD[name][1], bad], tf.constant(float(bad))):
            with pytest.raises(ValueError, match=f"`{name}` must be"):
                options.check(name, value)


def test_values_that_are_not_known_yet_pass():
    @tf.function(input_signature=[tf.TensorSpec([2])])
    def run(value):
        options.check("top_p", value)
        return options.check_each(2, top_p=value, top_k=3)[0]

    assert run([5.0, 6.0]).numpy().tolist() == [[5.0], [6.0]]
