import keras
import numpy as np
import pytest
import tensorflow as tf
from sklearn.metrics import matthews_corrcoef

from keras_attn.training.metrics.matthews import MatthewsCorrelation


def batch(rng, number, classes):
    true = rng.integers(classes, size=number)
    scores = rng.normal(size=(number, classes)) + 1.5 * np.eye(classes)[true]
    return true, scores


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_agrees_with_scikit_learn_over_batches(classes, jit_compile, rng):
    metric = MatthewsCorrelation(classes)
    update = tf.function(metric.update_state, jit_compile=jit_compile)
    batches = [batch(rng, number, classes) for number in (7, 7, 3)]
    for true, scores in batches:
        update(tf.constant(true[:, None]), tf.constant(scores))
    true, scores = (np.concatenate(x) for x in zip(*batches, strict=True))
    expected = matthews_corrcoef(true, scores.argmax(-1))
    assert float(metric.result()) == pytest.approx(expected, rel=1e-6)
    assert 0.05 < expected < 0.95


def test_two_classes_are_the_textbooks_fraction():
    tp, tn, fp, fn = 6, 3, 1, 2
    true = [1] * (tp + fn) + [0] * (tn + fp)
    found = [1] * tp + [0] * fn + [0] * tn + [1] * fp
    metric = MatthewsCorrelation()
    metric.update_state(true, np.eye(2)[found])
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    expected = (tp * tn - fp * fn) / np.sqrt(below)
    assert float(metric.result()) == pytest.approx(expected, rel=1e-6)


def test_examples_count_by_their_weights(rng):
    true, scores = batch(rng, 9, 3)
    weight = rng.uniform(0.5, 2.0, size=9)
    metric = MatthewsCorrelation(3)
    metric.update_state(true, scores, weight)
    expected = matthews_corrcoef(true, scores.argmax(-1), sample_weight=weight)
    assert float(metric.result()) == pytest.approx(expected, rel=1e-6)


def test_who_always_says_the_same_gets_nothing():
    metric = MatthewsCorrelation()
    assert float(metric.result()) == 0.0
    metric.update_state([0, 0, 0, 1], np.eye(2)[[0, 0, 0, 0]])
    assert float(metric.result()) == 0.0


def test_fit_takes_it_and_it_is_saved(rng, tmp_path):
    true, scores = batch(rng, 8, 2)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
    model.compile(
        "sgd",
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[MatthewsCorrelation()],
    )
    history = model.fit(scores, true, batch_size=4, verbose=0).history
    assert -1 <= history["matthews"][0] <= 1
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.evaluate(scores, true, verbose=0) == pytest.approx(
        model.evaluate(scores, true, verbose=0)
    )


def test_scores_of_other_classes_are_refused():
    with pytest.raises(ValueError, match=r"\(batch, 3\).*shape=\(4, 2\)"):
        MatthewsCorrelation(3).update_state([0, 1, 2, 0], np.ones((4, 2)))
    with pytest.raises(ValueError, match=r"`num_classes`.*at least 2"):
        MatthewsCorrelation(1)
