"""What GLUE's metrics say of several replicas' examples together."""

import json
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_attn import training

# Two logical CPUs, and batches of which the last is of one row.
PROGRAM = """
import json
import tensorflow as tf

(cpu,) = tf.config.list_physical_devices("CPU")
two = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(cpu, two)
from keras_attn import training
from tests.training.metrics.test_of_replicas import evaluate

with training.strategy("mirrored").scope():
    found = evaluate()
print(json.dumps(found))
"""


def evaluate():
    """Metrics of a model that returns its inputs, by name."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(6, size=13).astype("float32")
    guesses = numbers + rng.normal(size=13).astype("float32")
    classes = rng.integers(2, size=13)
    scores = rng.normal(size=(13, 2)) + 0.6 * np.eye(2)[classes]
    found = {}
    for x, y, metrics in (
        (
            guesses[:, None],
            numbers,
            [training.PearsonCorrelation(), training.SpearmanCorrelation(16)],
        ),
        (scores, classes, [training.MatthewsCorrelation(), training.F1()]),
    ):
        inputs = keras.Input(x.shape[1:])
        outputs = keras.layers.Activation("linear")(inputs)
        model = training.distributed(keras.Model(inputs, outputs))
        loss = (
            keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            if y is classes
            else "mse"
        )
        model.compile(loss=loss, metrics=metrics, jit_compile=False)
        for _ in range(2):  # the second says nothing of the first
            scored = model.evaluate(
                x, y, batch_size=4, verbose=0, return_dict=True
            )
        found |= {metric.name: float(scored[metric.name]) for metric in metrics}
    return found


@pytest.mark.slow
def test_two_replicas_find_what_one_device_finds():
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=pathlib.Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        check=True,
    )
    together = json.loads(run.stdout.splitlines()[-1])
    alone = evaluate()
    assert alone.keys() == {"pearson", "spearman", "matthews", "f1"}
    assert all(0.1 < abs(value) < 0.999 for value in alone.values())
    assert together == pytest.approx(alone, rel=1e-6)
