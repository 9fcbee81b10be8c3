import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export.graph.signature import Signature
from keras_attn.export.graph.signature import text_column


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


def test_a_column_keeps_every_byte():
    column = text_column(b"a\x00", b"", b"\xff")
    assert column.dtype == object
    assert column.tolist() == [b"a\x00", b"", b"\xff"]
    assert np.shape(text_column()) == (0,)
