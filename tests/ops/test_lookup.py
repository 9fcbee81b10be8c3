import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.lookup import look_up


def test_each_id_gives_its_row(rng):
    table = rng.normal(size=(5, 3))
    ids = np.array([[4, 0], [2, 2]], "int32")
    np.testing.assert_array_equal(look_up(table, ids), table[ids])


@pytest.mark.parametrize("unknown", [5, -1])
def test_an_id_that_is_not_there_is_an_error(unknown):
    with pytest.raises(tf.errors.InvalidArgumentError, match=str(unknown)):
        look_up(np.ones((5, 3)), np.array([[0, unknown]]))


@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_ids_must_be_integers(dtype):
    with pytest.raises(ValueError, match=f"integers.*{dtype}.*keras.Input"):
        look_up(np.ones((5, 3)), np.ones((1, 2), dtype))
