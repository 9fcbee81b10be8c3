import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.cache import CacheIndex
from keras_attn.ops.softmax import EXCLUDED
from keras_attn.ops.step_index import make_step_index

LENGTHS = np.array([4, 0, 2], "int32")
SLOTS = 3


def make(step, *, window=None, prompt=True, dtype="float32"):
    """The index of a step after prompts of unequal lengths."""
    first = tf.constant(LENGTHS if prompt else LENGTHS * 0)
    return make_step_index(
        CacheIndex(first + step, SLOTS, first, rolls=window is not None),
        CacheIndex(first - 1, 4, rolls=False) if prompt else None,
        window=window,
        dtype=dtype,
        message="Say why.",
    )


@pytest.mark.parametrize("step", range(SLOTS))
@pytest.mark.parametrize("window", [None, 3, 1])
def test_a_step_sees_what_is_filled_and_near(window, step):
    index = make(step, window=window)
    assert index.exclusion.shape == (3, 1, 1, 4 + SLOTS)
    for row, length in enumerate(LENGTHS):
        now = length + step
        for slot in range(4):  # of the prompt
            seen = slot < length and (window is None or now - slot < window)
            expected = 0.0 if seen else EXCLUDED
            assert index.exclusion[row, 0, 0, slot] == np.float32(expected)
        for slot in range(SLOTS):
            seen = slot <= step and (window is None or step - slot < window)
            expected = 0.0 if seen else EXCLUDED
            assert index.exclusion[row, 0, 0, 4 + slot] == np.float32(expected)
        np.testing.assert_array_equal(
            index.newest[row, 0, :, 0], np.arange(SLOTS) == step
        )
    np.testing.assert_array_equal(
        index.query_positions, (LENGTHS + step)[:, None]
    )
    assert [x.shape[1] for x in index.key_positions] == [4, SLOTS]


def test_without_a_prompt_there_is_one_block():
    index = make(1, prompt=False)
    assert len(index.key_positions) == 1
    np.testing.assert_array_equal(index.exclusion[0, 0, 0] == 0, [1, 1, 0])


def test_past_the_end_is_an_error_or_nan():
    with pytest.raises(ValueError, match=r"Say why\. Received: position 7"):
        make(3)
    exclusion = tf.function(lambda step: make(step).exclusion)
    assert np.isnan(exclusion(tf.constant(3))).all()
    assert np.isfinite(exclusion(tf.constant(2))).all()
    assert np.isfinite(make(3, window=3).exclusion).all()


@pytest.mark.parametrize(
    ("dtype", "wider"), [("bfloat16", "float32"), ("float64", "float64")]
)
def test_the_dtype_is_that_of_the_scores(dtype, wider):
    assert make(0, dtype=dtype).exclusion.dtype == wider
