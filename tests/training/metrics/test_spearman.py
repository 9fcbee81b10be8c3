import types

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy.stats import spearmanr

from keras_attn.training.metrics.spearman import SpearmanCorrelation


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_agrees_with_scipy_over_batches_with_ties(jit_compile, rng):
    metric = SpearmanCorrelation(20)
    update, result = (
        tf.function(each, jit_compile=jit_compile)
        for each in (metric.update_state, metric.result)
    )
    true = rng.integers(5, size=17).astype("float32")
    found = (true + rng.integers(4, size=17)).astype("float32")
    for part in (slice(0, 7), slice(7, 14), slice(14, 17)):
        update(tf.constant(true[part, None]), tf.constant(found[part]))
    expected = spearmanr(true, found).statistic
    assert float(result()) == pytest.approx(expected, rel=1e-6)
    assert 0.2 < expected < 0.95


def test_only_the_order_counts(rng):
    true = rng.normal(size=9)
    metric = SpearmanCorrelation()
    metric.update_state(true, np.exp(3 * true))
    assert float(metric.result()) == pytest.approx(1.0)
    metric.reset_state()
    metric.update_state(true, -(true**3))
    assert float(metric.result()) == pytest.approx(-1.0)


def test_numbers_below_zero_rank_below_places_that_are_free():
    metric = SpearmanCorrelation(50)
    true, found = [-3.0, -1.0, -2.0, 4.0], [-9.0, -6.0, -5.0, -7.0]
    metric.update_state(true, found)
    expected = spearmanr(true, found).statistic
    assert float(metric.result()) == pytest.approx(expected, rel=1e-6)


def test_a_constant_side_and_no_numbers_give_nothing():
    metric = SpearmanCorrelation()
    assert float(metric.result()) == 0.0
    metric.update_state([1.0, 2.0, 3.0], [5.0, 5.0, 5.0])
    assert float(metric.result()) == 0.0


def test_more_numbers_than_there_is_room_for_are_told():
    metric = SpearmanCorrelation(4)
    metric.update_state([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    metric.update_state([4.0], [4.0])
    assert float(metric.result()) == pytest.approx(1.0)
    metric.update_state([5.0, 6.0], [5.0, 6.0])
    assert np.isnan(metric.result())
    metric.reset_state()
    metric.update_state([1.0, 2.0], [2.0, 1.0])
    assert float(metric.result()) == pytest.approx(-1.0)


def test_fit_takes_it(rng):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=[SpearmanCorrelation(64)])
    x, y = rng.normal(size=(10, 2)), rng.normal(size=10)
    history = model.fit(x, y, batch_size=4, verbose=0).history
    assert -1 <= history["spearman"][0] <= 1


def test_weights_are_refused():
    with pytest.raises(ValueError, match="rank has no weight"):
        SpearmanCorrelation().update_state([1.0], [1.0], [1.0])
    with pytest.raises(ValueError, match=r"`max_examples`.*at least 2"):
        SpearmanCorrelation(1)


def test_replicas_take_turns(rng, monkeypatch):
    true, found = rng.normal(size=(2, 9))
    metrics = []
    for replica, part in enumerate((slice(0, 5), slice(5, 9))):
        context = types.SimpleNamespace(
            num_replicas_in_sync=2, replica_id_in_sync_group=replica
        )
        monkeypatch.setattr(
            tf.distribute,
            "get_replica_context",
            lambda context=context: context,
        )
        metrics.append(SpearmanCorrelation(12))
        metrics[-1].update_state(true[part], found[part])
    first, second = metrics
    for a, b in zip(first.variables, second.variables, strict=True):
        a.assign(a + b)  # as they are read outside of replicas
    expected = spearmanr(true, found).statistic
    assert float(first.result()) == pytest.approx(expected, rel=1e-6)
