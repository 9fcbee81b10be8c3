import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training import tokens

LABELS = np.array([[3, 0, 2], [0, 1, 0]])
LOGITS = np.zeros((2, 3, 4), "float32")
REAL = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]


def weights(labels=LABELS, logits=LOGITS, sample_weight=None, pad_id=0):
    _, _, weights = tokens.read_tokens(
        labels, logits, sample_weight, pad_id=pad_id
    )
    return weights.numpy()


def with_mask(mask):
    logits = tf.constant(LOGITS)
    logits._keras_mask = tf.constant(mask)
    return logits


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float32"])
def test_padding_does_not_count(dtype):
    np.testing.assert_array_equal(weights(LABELS.astype(dtype)), REAL)


def test_without_a_pad_id_everything_counts():
    np.testing.assert_array_equal(weights(pad_id=None), np.ones((2, 3)))


def test_padding_may_be_outside_of_the_vocabulary():
    labels, _, counted = tokens.read_tokens(
        np.where(LABELS == 0, -100, LABELS), LOGITS, pad_id=-100
    )
    np.testing.assert_array_equal(counted, REAL)
    np.testing.assert_array_equal(labels, LABELS)


def test_a_label_counts_if_neither_it_nor_the_mask_says_no():
    logits = with_mask([[True, True, False], [False, True, True]])
    np.testing.assert_array_equal(
        weights(logits=logits), [[1, 0, 0], [0, 1, 0]]
    )
    np.testing.assert_array_equal(
        weights(logits=logits, pad_id=None), [[1, 1, 0], [0, 1, 1]]
    )


def test_a_weight_for_each_row_is_its_labels_weight():
    # As many rows as labels in each, so that no shape tells which is meant.
    square = np.array([[1, 2], [3, 0]])
    np.testing.assert_array_equal(
        weights(square, np.zeros((2, 2, 4), "float32"), [0.5, 3.0]),
        [[0.5, 0.5], [3.0, 0.0]],
    )


@pytest.mark.parametrize("shape", [(), (2, 1), (1, 3), (2, 3)], ids=str)
def test_weights_are_spread_over_the_labels(shape, rng):
    given = rng.uniform(1, 2, size=shape).astype("float32")
    np.testing.assert_array_equal(
        weights(sample_weight=given), np.multiply(REAL, given)
    )


def test_what_was_given_to_padding_is_not_looked_at():
    given = np.where(LABELS == 0, np.nan, 2.0)
    np.testing.assert_array_equal(
        weights(sample_weight=given), np.multiply(2.0, REAL)
    )


@pytest.mark.parametrize(
    ("logits", "expected"),
    [("float16", "float32"), ("bfloat16", "float32"), ("float64", "float64")],
)
def test_weights_are_at_least_single_precision(logits, expected):
    logits = tf.cast(LOGITS, logits)
    _, _, counted = tokens.read_tokens(LABELS, logits, pad_id=0)
    assert counted.dtype == expected


@pytest.mark.parametrize("shape", [(2, 4), (2,), (2, 3, 1)], ids=str)
def test_rejects_labels_that_do_not_fit_the_logits(shape):
    with pytest.raises(ValueError, match=r"\(2, 3, 4\)"):
        weights(np.ones(shape, "int32"))


def test_rejects_weights_with_too_many_axes():
    with pytest.raises(ValueError, match=r"sample_weight.*\(2, 3, 1\)"):
        weights(sample_weight=np.ones((2, 3, 1)))


def test_rejects_weights_for_other_rows():
    with pytest.raises(tf.errors.InvalidArgumentError):
        weights(LABELS[:1], LOGITS[:1], sample_weight=np.ones(2))


@pytest.mark.parametrize("pad_id", [0.0, True, "0"])
def test_rejects_a_pad_id_that_is_no_number(pad_id):
    with pytest.raises(ValueError, match="`pad_id` must be an integer"):
        tokens.check_pad_id(pad_id)


@pytest.mark.parametrize("pad_id", [None, 0, -100, np.int64(3)])
def test_accepts_whole_numbers_and_none(pad_id):
    tokens.check_pad_id(pad_id)
