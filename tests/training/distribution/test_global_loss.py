import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training import MaskedCrossentropy
from keras_attn.training import MaskedDivergence
from keras_attn.training.distribution.global_loss import added_loss
from keras_attn.training.distribution.global_loss import asked
from keras_attn.training.distribution.global_loss import global_loss
from keras_attn.training.distribution.global_loss import weight_sum
from keras_attn.training.distribution.global_loss import weight_sums
from keras_attn.training.distribution.global_loss import with_totals

REDUCTIONS = ("sum_over_batch_size", "mean_with_sample_weight")


def masked_mean_squares(reduction):
    return keras.losses.MeanSquaredError(reduction=reduction)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_a_loss_times_what_it_divides_by_is_its_sum(
    rng, reduction, weighted, masked
):
    y_true, y_pred = rng.normal(size=(2, 4, 3, 2)).astype("float32")
    y_pred = tf.constant(y_pred)
    each = ((y_true - y_pred) ** 2).numpy().mean(-1)  # (4, 3)
    weights = rng.random((4, 3)).astype("float32") if weighted else None
    if weighted:
        each = each * weights
    if masked:
        mask = rng.random((4, 3)) < 0.5
        y_pred._keras_mask = tf.constant(mask)
        each = each * mask
    loss = masked_mean_squares(reduction)
    divisor = weight_sum(loss, y_true, y_pred, weights)
    value = loss(y_true, y_pred, weights)
    np.testing.assert_allclose(value * divisor, each.sum(), rtol=1e-5)


def test_a_sum_is_not_divided():
    loss = keras.losses.MeanSquaredError(reduction="sum")
    assert weight_sum(loss, np.ones((2, 3)), np.ones((2, 3))) is None


def test_token_losses_divide_by_the_labels_that_count(rng):
    labels = np.array([[1, 2, 0], [3, 0, 0]])
    logits = tf.constant(rng.normal(size=(2, 3, 4)))
    weights = np.array([1.0, 0.5])
    loss = MaskedCrossentropy()
    assert float(weight_sum(loss, labels, logits)) == 3
    assert float(weight_sum(loss, labels, logits, weights)) == 2.5
    targets = np.eye(4)[labels] * (labels > 0)[..., None]
    loss = MaskedDivergence()
    assert float(weight_sum(loss, targets, logits)) == 3
    assert float(weight_sum(loss, targets, logits, weights)) == 2.5


def small_model():
    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.layers.Dense(2)(inputs))
    model.compile(loss="mse")
    return model


def test_shares_of_unequal_parts_add_up_to_the_loss_of_all(rng):
    model = small_model()
    x, y = rng.normal(size=(7, 3)), rng.normal(size=(7, 2))
    x, y = tf.cast(x, "float32"), tf.cast(y, "float32")
    whole = model.compute_loss(x, y, model(x))
    total = weight_sums(model, x, y, None)
    assert [float(x) for x in total] == [7]
    parts, values = [], []
    for rows in (slice(0, 2), slice(2, 7)):
        answer = with_totals(total, replicas=2, values=values)
        with asked(model, answer):
            parts.append(model.compute_loss(x[rows], y[rows], model(x[rows])))
    # Keras would divide by the replicas, if there were any.
    np.testing.assert_allclose(sum(parts) / 2, whole, rtol=1e-5)
    np.testing.assert_allclose(sum(values) / 2, whole, rtol=1e-5)
    after = model.compute_loss(x[:2], y[:2], model(x[:2]))
    assert float(after) != pytest.approx(float(parts[0]))


def test_counting_changes_no_metric_and_no_seed(rng):
    inputs = keras.Input((3,))
    x = keras.layers.Dropout(0.5, seed=1)(inputs)
    outputs = {name: keras.layers.Dense(2, name=name)(x) for name in "ab"}
    model = keras.Model(inputs, outputs)
    model.compile(loss={"a": "mse", "b": "mae"})
    x = tf.cast(rng.normal(size=(4, 3)), "float32")
    y = {name: tf.ones((4, 2)) for name in "ab"}
    model.compute_loss(x, y, model(x))
    before = [v.numpy() for v in model.variables + model.metrics_variables]
    assert len(weight_sums(model, x, y, None)) == 2
    after = [v.numpy() for v in model.variables + model.metrics_variables]
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)


def test_outside_of_fit_a_loss_is_itself():
    loss = keras.losses.MeanSquaredError()
    ones = np.ones((2, 3))
    assert float(global_loss(loss, ones, 3 * ones)) == 4
    assert float(added_loss(tf.constant(5.0))) == 5


def test_the_mean_over_no_rows_adds_nothing():
    model = small_model()
    with asked(model, None, share=tf.constant(0.0)):
        assert float(added_loss(tf.constant(float("nan")))) == 0
