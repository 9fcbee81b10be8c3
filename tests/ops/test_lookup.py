import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.lookup import first_rows
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


def test_past_the_end_xla_gives_nan_where_asked_for(rng):
    table = rng.normal(size=(5, 3))
    run = tf.function(look_up, jit_compile=True)
    found = run(table, np.array([[4, 5]]), past_end_is_nan=True)
    np.testing.assert_array_equal(found, [[table[4], [np.nan] * 3]])


def test_the_first_rows_and_nan_for_more(rng):
    table = tf.constant(rng.normal(size=(5, 3)))
    take = tf.function(
        lambda x: first_rows(table, tf.shape(x)[0]),
        input_signature=[tf.TensorSpec([None])],
        jit_compile=True,
    )
    for rows in (first_rows(table, 4), take(tf.zeros(4))):
        np.testing.assert_array_equal(rows, table[:4])
    longer = tf.pad(table, [[0, 2], [0, 0]], constant_values=np.nan)
    np.testing.assert_array_equal(take(tf.zeros(7)), longer)
