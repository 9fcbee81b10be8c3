import keras
import numpy as np
import pytest

from keras_attn.training.losses.multi_label_crossentropy import (
    MultiLabelCrossentropy,
)

LABELS = np.array([[0.0, 1.0, 0.0], [0.25, 0.0, 0.75]])


def equation(labels, logits):
    """Binary cross-entropy of each class, in float64."""
    p = 1 / (1 + np.exp(-logits))
    shown = labels > 0
    return -np.where(shown, np.log(p), np.log(1 - p)).mean()


def test_matches_the_equation(rng):
    logits = rng.normal(size=LABELS.shape)
    loss = MultiLabelCrossentropy(dtype="float64")
    np.testing.assert_allclose(
        loss(LABELS, logits), equation(LABELS, logits), rtol=1e-12
    )


def test_shares_do_not_matter_and_whole_labels_are_as_in_keras(rng):
    logits = rng.normal(size=LABELS.shape)
    whole = (LABELS > 0).astype("float64")
    loss = MultiLabelCrossentropy(dtype="float64")
    keras_loss = keras.losses.BinaryCrossentropy(
        from_logits=True, dtype="float64"
    )
    np.testing.assert_allclose(
        loss(LABELS, logits), keras_loss(whole, logits), rtol=1e-12
    )
    assert loss(LABELS, logits) != keras_loss(LABELS, logits)


def test_large_logits_of_half_precision_stay_finite():
    logits = np.array([[6e4, -6e4, 6e4], [-6e4, 6e4, -6e4]], "float16")
    assert np.isfinite(MultiLabelCrossentropy()(LABELS, logits))


def test_refuses_labels_that_are_numbers():
    with pytest.raises(ValueError, match=r"one_hot.*\(2,\).*\(2, 3\)"):
        MultiLabelCrossentropy()(np.array([1, 2]), np.zeros((2, 3)))
