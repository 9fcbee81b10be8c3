import numpy as np
import pytest
import tensorflow as tf

from benchmarks import cold_load


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A model that adds its weights, and one that cannot without XLA."""

    def plain(values):
        return {"sum": module.weights + values}

    compiled = tf.function(plain, jit_compile=True)
    module = tf.Module()
    module.weights = tf.Variable(np.arange(500, dtype="float32"))
    servables = {}
    for name, function in {"plain": plain, "compiled": compiled}.items():
        folder = tmp_path_factory.mktemp(name)
        spec = tf.TensorSpec([None, 500], tf.float32, "values")
        signature = tf.function(function).get_concrete_function(spec)
        tf.saved_model.save(module, folder, {"serving_default": signature})
        servables[name] = {
            "folder": folder,
            "weights": 2000,
            "inputs": {"values": np.ones((1, 500), "float32")},
        }
    return cold_load.measure(servables, rounds=1)


def test_what_loads_is_timed_and_weighed(results):
    found = results["plain"]
    assert found.keys() == {"load", "answer", "variables", "whole", "weights"}
    assert 0 < found["answer"]
    assert 0 < found["load"]
    assert 2000 <= found["variables"] < found["whole"]


def test_what_tensorflow_refuses_is_told(results):
    assert "load" in results["compiled"]
    assert "answer" not in results["compiled"]
    assert "XLA compilation disabled" in results["compiled"]["message"]


def test_the_best_of_each_time_is_kept():
    best = {}
    cold_load.keep_best(best, {"load": 3.0, "answer": 1.0})
    cold_load.keep_best(best, {"load": 2.0, "answer": 4.0})
    cold_load.keep_best(best, {"load": 5.0, "message": "no"})
    assert best == {"load": 2.0, "answer": 1.0, "message": "no"}
