import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export.graph.signature import Signature


def test_a_signature_is_fixed_and_uses_no_xla_unless_it_says_so():
    signature = Signature(
        "double",
        lambda numbers: {"doubled": 2 * numbers},
        {"numbers": tf.TensorSpec([None, 3])},
        ({"numbers": np.ones((2, 3))},),
    )
    assert not signature.compiled
    assert dataclasses.replace(signature, compiled=True).compiled
    with pytest.raises(dataclasses.FrozenInstanceError):
        signature.name = "halve"
