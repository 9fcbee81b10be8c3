import numpy as np
import pytest
import tensorflow as tf

from keras_attn.modifiers.relative_bias import RelativeBias


def built(**settings):
    modifier = RelativeBias(**settings)
    modifier.build((None, None, 3, 4), (None, None, 1, 4))
    return modifier


def test_the_bias_is_read_from_the_table():
    modifier = built()
    queries, keys = tf.constant([[20, 3]]), tf.constant([[0, 3, 19, 500]])
    bias = modifier.bias(modifier.parameters(), queries, keys)
    table = modifier.table.numpy()
    # Distances 20, 17, 1, -480 and 3, 0, -16, -497.
    expected = table[[[10, 10, 1, 31], [3, 0, 26, 31]]]  # (query, key, heads)
    np.testing.assert_array_equal(bias[0], np.moveaxis(expected, -1, 0))


def test_one_direction_has_all_the_buckets():
    modifier = built(num_buckets=5, max_distance=9, bidirectional=False)
    queries, keys = tf.constant([[10]]), tf.constant([[12, 10, 9, 8, 0]])
    bias = modifier.bias(modifier.parameters(), queries, keys)
    table = modifier.table.numpy()
    np.testing.assert_array_equal(bias[0, :, 0], table[[0, 0, 1, 2, 4]].T)


def test_every_row_has_its_own_positions():
    modifier = built()
    bias = modifier.bias(
        modifier.parameters(), tf.constant([[4], [5]]), tf.constant([[2, 3]])
    )
    assert bias.shape == (2, 3, 1, 2)
    np.testing.assert_array_equal(bias[0, :, :, 0], bias[1, :, :, 1])


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("num_buckets", {"num_buckets": 7}),
        ("num_buckets", {"num_buckets": 2}),
        ("num_buckets", {"num_buckets": 1, "bidirectional": False}),
        ("max_distance", {"max_distance": 8}),
    ],
)
def test_rejects_settings_without_meaning(name, settings):
    with pytest.raises(ValueError, match=f"`{name}` must.*Received"):
        RelativeBias(**settings)
