import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.gelu import gelu
from keras_attn.ops.normalization import layer_norm
from keras_attn.ops.normalization import rms_norm
from keras_attn.ops.recompute import not_before
from keras_attn.ops.recompute import recomputed


def waits_of(function, op):
    """Whether each op of one kind, as TensorFlow ran them, had to wait."""
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, (3, 4))
        y = function(x)
        gradient = tf.gradients(y, x, grad_ys=tf.math.sinh(y))
        metadata = v1.RunMetadata()
        with v1.Session(graph=graph) as session:
            session.run(
                gradient,
                {x: np.eye(3, 4)},
                options=v1.RunOptions(output_partition_graphs=True),
                run_metadata=metadata,
            )
    (ran,) = metadata.partition_graphs
    inputs = {node.name: node.input for node in ran.node}

    def waits(name):
        return any(
            source.startswith("^") or waits(source.split(":")[0])
            for source in inputs[name]
        )

    return sorted(waits(node.name) for node in ran.node if node.op == op)


def sums(hold_back):
    """Running sums, with a gradient that computes them anew."""

    @tf.custom_gradient
    def function(x):
        def gradient(upstream):
            (late,) = hold_back(upstream, x)
            return upstream * tf.cumsum(late)

        return tf.cumsum(x), gradient

    return function


def test_what_is_held_back_waits_for_the_gradient():
    at_once = sums(lambda upstream, x: [x])
    assert not any(waits_of(at_once, "Cumsum"))
    assert waits_of(sums(not_before), "Cumsum") == [False, True]


@pytest.mark.parametrize(
    "function, op",
    [
        (lambda x: gelu(x, approximate=True), "Tanh"),
        (lambda x: gelu(x, approximate=False), "Exp"),
        (
            lambda x: layer_norm(x, tf.ones(4), tf.zeros(4), epsilon=1e-3),
            "Rsqrt",
        ),
        (lambda x: rms_norm(x, tf.ones(4), epsilon=1e-3), "Rsqrt"),
        (recomputed(tf.exp), "Exp"),
    ],
    ids=["gelu_tanh", "gelu", "layer_norm", "rms_norm", "recomputed"],
)
def test_gradients_compute_anew_once_they_are_asked_for(function, op):
    *forward, backward = waits_of(function, op)
    assert not any(forward)
    assert backward


def test_what_is_recomputed_has_every_gradient_of_the_function():
    def function(x, y, unused):
        return tf.sin(x) * y**3

    def slopes(function):
        x, y, unused = (tf.Variable(each) for each in (0.5, 2.0, 1.0))
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                z = function(*map(tf.convert_to_tensor, (x, y, unused)))
            first = inner.gradient(z, [x, y, unused])
        second = outer.gradient(first[0], [x, y])
        return [first[0], first[1], *second]

    np.testing.assert_allclose(slopes(recomputed(function)), slopes(function))
