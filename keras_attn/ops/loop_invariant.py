"""What every step of a loop needs and none changes, made once before it."""

import tensorflow as tf


def inside_loop() -> bool:
    """Whether the body of a loop is being traced."""
    eager = tf.executing_eagerly()
    return not eager and _is_body(tf.compat.v1.get_default_graph())


def before_loop(make):
    """Call `make` before the loop whose body is being traced.

        while …: y = x f(W)   becomes   V = f(W); while …: y = x V

    XLA moves what no step changes out of a loop; TensorFlow's own executor
    would make it again in each step. Outside of a loop, and eagerly, it is
    made where it stands.

    Args:
        make: A function without arguments, of weights alone: what the loop
            computes does not exist before it.

    Returns:
        What `make` returned.
    """
    if tf.executing_eagerly():
        return make()
    graph = tf.compat.v1.get_default_graph()
    # A search may loop within a loop.
    while _is_body(graph):
        graph = graph.outer_graph
    with graph.as_default():
        return make()


def _is_body(graph):
    return type(graph).__name__ == "WhileBodyFuncGraph"
