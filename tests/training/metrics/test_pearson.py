import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.metrics.pearson import PearsonCorrelation


def equation(x, y, weight=None):
    weight = np.ones(len(x)) if weight is None else weight
    x = x - np.average(x, weights=weight)
    y = y - np.average(y, weights=weight)
    spread = np.sum(weight * x**2) * np.sum(weight * y**2)
    return np.sum(weight * x * y) / np.sqrt(spread)


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_matches_the_equation_over_batches(jit_compile, rng):
    metric = PearsonCorrelation()
    update, result = (
        tf.function(each, jit_compile=jit_compile)
        for each in (metric.update_state, metric.result)
    )
    true = rng.uniform(0, 5, size=17)
    found = 3 - 0.7 * true + rng.normal(size=17)
    for part in (slice(0, 7), slice(7, 14), slice(14, 17)):
        update(tf.constant(true[part, None]), tf.constant(found[part]))
    expected = equation(true, found)
    np.testing.assert_allclose(expected, np.corrcoef(true, found)[0, 1])
    assert float(result()) == pytest.approx(expected, rel=1e-6)
    assert -0.95 < expected < -0.2


def test_examples_count_by_their_weights(rng):
    true, found = rng.normal(size=(2, 9))
    weight = rng.uniform(0.5, 2.0, size=9)
    metric = PearsonCorrelation()
    metric.update_state(true, found, weight)
    expected = equation(true, found, weight)
    assert float(metric.result()) == pytest.approx(expected, rel=1e-6)
    assert abs(expected - equation(true, found)) > 1e-3


def test_is_exact_far_from_zero(rng):
    true, found = 10_000 + rng.normal(size=(2, 50))
    metric = PearsonCorrelation()
    for row in zip(true, found, strict=True):
        metric.update_state(*row)
    expected = equation(true, found)
    assert float(metric.result()) == pytest.approx(expected, rel=1e-5)


def test_a_line_has_exactly_one(rng):
    true = rng.normal(size=9)
    for slope in (2.0, -0.3):
        metric = PearsonCorrelation()
        metric.update_state(true, slope * true + 5)
        assert float(metric.result()) == np.sign(slope)


def test_a_constant_side_and_no_numbers_give_nothing(rng):
    metric = PearsonCorrelation()
    assert float(metric.result()) == 0.0
    for _ in range(30):
        metric.update_state(rng.normal(size=7), np.full(7, 0.1))
    assert float(metric.result()) == 0.0


def test_fit_takes_it_and_it_is_saved(rng, tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=[PearsonCorrelation()])
    x, y = rng.normal(size=(10, 2)), rng.normal(size=10)
    history = model.fit(x, y, batch_size=4, verbose=0).history
    assert -1 <= history["pearson"][0] <= 1
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    found = loaded.evaluate(x, y, verbose=0, return_dict=True)["pearson"]
    expected = equation(y, model.predict(x, verbose=0)[:, 0])
    assert found == pytest.approx(expected, rel=1e-5)
