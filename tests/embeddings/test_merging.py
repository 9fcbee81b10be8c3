import numpy as np
import pytest
import tensorflow as tf

from keras_attn.embeddings import merging


def test_places_are_added(rng):
    x, places = rng.normal(size=(2, 3, 4)), rng.normal(size=(1, 3, 4))
    merged = merging.merge_positions(tf.constant(x), tf.constant(places), "add")
    np.testing.assert_array_equal(merged, x + places)


@pytest.mark.parametrize("rows", [1, 2])
def test_places_are_appended(rows, rng):
    x, places = rng.normal(size=(2, 3, 4)), rng.normal(size=(rows, 3, 5))
    merged = merging.merge_positions(
        tf.constant(x), tf.constant(places), "concat"
    )
    np.testing.assert_array_equal(merged[..., :4], x)
    expected = np.broadcast_to(places, (2, 3, 5))
    np.testing.assert_array_equal(merged[..., 4:], expected)


@pytest.mark.parametrize("merge", merging.MERGES)
def test_the_dtype_is_that_of_the_vectors(merge):
    x, places = tf.ones((2, 3, 4), "bfloat16"), tf.ones((1, 3, 4))
    assert merging.merge_positions(x, places, merge).dtype == "bfloat16"


def test_places_are_as_wide_as_they_must_be():
    assert merging.width(None, 4, "add") == 4
    assert merging.width(None, 4, "concat") == 4
    assert merging.width(4, 4, "add") == 4
    assert merging.width(6, 4, "concat") == 6
    with pytest.raises(ValueError, match=r"units=6, features=4.*concat"):
        merging.width(6, 4, "add")


def test_what_cannot_be_merged_is_refused():
    merging.check("add", None)
    merging.check("concat", 3)
    with pytest.raises(ValueError, match=r"`merge`.*'concat'.*merge='sum'"):
        merging.check("sum", None)
    with pytest.raises(ValueError, match=r"`units`.*at least 1.*units=0"):
        merging.check("concat", 0)
