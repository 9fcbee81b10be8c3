import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.loop_invariant import before_loop
from keras_attn.ops.loop_invariant import inside_loop


def powers(weight, steps):
    """Multiply by the square of a weight, so many times."""
    inside = []

    def advance(index, x):
        inside.append(inside_loop())
        square = before_loop(lambda: tf.square(weight))
        return index + 1, x * square

    _, x = tf.while_loop(
        lambda index, x: index < steps, advance, (0, tf.constant(1.0))
    )
    return x, inside


def bodies(graph):
    loops = [op for op in graph.get_operations() if "While" in op.type]
    names = [op.get_attr("body").name for op in loops]
    library = graph.as_graph_def().library.function
    return [f for f in library if f.signature.name in names]


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_what_is_made_before_the_loop_is_right_after_a_change(jit_compile):
    weight = tf.Variable(2.0)

    @tf.function(jit_compile=jit_compile)
    def run(steps):
        return powers(weight, steps)[0]

    assert run(tf.constant(3)) == 64.0
    weight.assign(3.0)
    assert run(tf.constant(2)) == 81.0


def test_a_step_does_not_make_it_again():
    weight = tf.Variable(2.0)
    run = tf.function(lambda steps: powers(weight, steps)[0])
    graph = run.get_concrete_function(tf.TensorSpec([], tf.int32)).graph
    assert [op.type for op in graph.get_operations()].count("Square") == 1
    (body,) = bodies(graph)
    kinds = [node.op for node in body.node_def]
    assert "Mul" in kinds
    assert "Square" not in kinds
    assert "ReadVariableOp" not in kinds


def test_it_is_made_before_the_outermost_of_nested_loops():
    weight = tf.Variable(2.0)

    @tf.function
    def run():
        def outer(index, x):
            return index + 1, x * powers(weight, 2)[0]

        return tf.while_loop(lambda i, x: i < 2, outer, (0, tf.constant(1.0)))

    graph = run.get_concrete_function().graph
    assert [op.type for op in graph.get_operations()].count("Square") == 1
    assert run()[1] == 256.0


def test_eagerly_and_outside_of_a_loop_it_is_made_where_it_stands():
    weight = tf.Variable(2.0)
    result, inside = powers(weight, 3)
    np.testing.assert_array_equal(result, 64.0)
    assert inside == [False] * 3
    seen = []

    @tf.function
    def run():
        seen.append(inside_loop())
        seen.extend(powers(weight, 1)[1])
        return before_loop(lambda: weight + 1.0)

    assert run() == 3.0
    assert seen == [False, True]
