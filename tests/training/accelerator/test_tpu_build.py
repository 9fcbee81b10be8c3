import json
import sys

import numpy as np
import tensorflow as tf

from keras_attn.training.accelerator import tpu_build
from keras_attn.training.accelerator.functional import functional_step
from tests.training.accelerator.functional_steps import traced


def graph_of_a_sum():
    variable = tf.Variable(3.0)
    graph, _ = functional_step(traced(lambda x: x + variable, tf.ones(2)))
    return graph


def test_a_graph_becomes_a_function_of_its_placeholders():
    function, specs = tpu_build.function_of(graph_of_a_sum())
    assert specs == [tf.TensorSpec(2), tf.TensorSpec(())]
    (found,) = function(tf.constant([1.0, 2.0]), tf.constant(5.0))
    np.testing.assert_array_equal(found, [6, 7])


def test_what_cannot_be_lowered_is_an_answer_too(monkeypatch, tmp_path):
    graph, answer = tmp_path / "graph.pb", tmp_path / "answer.json"
    graph.write_bytes(graph_of_a_sum().SerializeToString())
    for name, value in tpu_build.WITHOUT_A_TPU.items():
        monkeypatch.setenv(name, value)  # and undo it
    monkeypatch.setattr(sys, "argv", ["", str(graph), str(answer)])
    tpu_build.main()  # an ordinary build, which knows no TPU
    found = json.loads(answer.read_text())
    assert found["build"].endswith(tf.__version__)
    assert "TPU" in found["error"] and "module" not in found
