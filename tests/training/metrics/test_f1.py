import keras
import numpy as np
import pytest
import tensorflow as tf
from sklearn.metrics import f1_score

from keras_attn.training.metrics.f1 import F1


def batch(rng, number, classes):
    true = rng.integers(classes, size=number)
    scores = rng.normal(size=(number, classes)) + 1.5 * np.eye(classes)[true]
    return true, scores


@pytest.mark.parametrize(("classes", "positive"), [(2, 1), (2, 0), (4, 2)])
@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_agrees_with_scikit_learn_over_batches(
    classes, positive, jit_compile, rng
):
    metric = F1(positive)
    update = tf.function(metric.update_state, jit_compile=jit_compile)
    batches = [batch(rng, number, classes) for number in (7, 7, 3)]
    for true, scores in batches:
        update(tf.constant(true[:, None]), tf.constant(scores))
    true, scores = (np.concatenate(x) for x in zip(*batches, strict=True))
    expected = f1_score(true == positive, scores.argmax(-1) == positive)
    assert float(metric.result()) == pytest.approx(expected, rel=1e-6)
    assert 0.05 < expected < 0.98


def test_examples_count_by_their_weights(rng):
    true, scores = batch(rng, 9, 2)
    weight = rng.uniform(0.5, 2.0, size=9)
    metric = F1()
    metric.update_state(true, scores, weight)
    expected = f1_score(true, scores.argmax(-1), sample_weight=weight)
    assert float(metric.result()) == pytest.approx(expected, rel=1e-6)


def test_a_class_that_is_never_found_has_none():
    metric = F1()
    assert float(metric.result()) == 0.0
    metric.update_state([0, 1, 1], np.eye(2)[[0, 0, 0]])
    assert float(metric.result()) == 0.0


def test_a_score_of_zero_can_be_the_highest():
    metric = F1()
    metric.update_state([1, 0], np.array([[-1.0, 0.0], [0.0, -1.0]]))
    assert float(metric.result()) == 1.0


def test_fit_takes_it_and_it_is_saved(rng, tmp_path):
    true, scores = batch(rng, 8, 2)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
    model.compile(
        "sgd",
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[F1()],
    )
    history = model.fit(scores, true, batch_size=4, verbose=0).history
    assert 0 <= history["f1"][0] <= 1
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.evaluate(scores, true, verbose=0) == pytest.approx(
        model.evaluate(scores, true, verbose=0)
    )


def test_scores_without_the_class_are_refused():
    with pytest.raises(ValueError, match=r"of which 2 is one.*shape=\(4, 2\)"):
        F1(2).update_state([0, 1, 1, 0], np.ones((4, 2)))
    with pytest.raises(ValueError, match=r"`positive`.*at least 0"):
        F1(-1)
