"""Steps on variables beside what is made of them without variables."""

import numpy as np
import tensorflow as tf

from keras_attn.training.accelerator.functional import functional_step
from keras_attn.training.accelerator.tpu_build import function_of


def traced(step, *inputs):
    # For XLA, which wants the lengths of loops known.
    function = tf.function(step, jit_compile=True, autograph=False)
    return function.get_concrete_function(
        *[tf.TensorSpec(x.shape, x.dtype) for x in inputs]
    )


def both(step, variables, *inputs):
    """Results and new values of assigned variables: as values, as variables.

    Args:
        step: A function that uses variables, in the order of `variables`.
        variables: All of them.
        inputs: Tensors.
    """
    concrete = traced(step, *inputs)
    graph, updated = functional_step(concrete)
    handles = {id(x.handle): x for x in variables}
    captured = [handles[id(x)] for x in concrete.captured_inputs]
    values = [x.read_value() for x in captured]
    function, _ = function_of(graph)
    found = function(*inputs, *values)
    unchanged = [x.numpy() for x in captured]
    for variable, value in zip(captured, values, strict=True):
        np.testing.assert_array_equal(variable, value)

    wanted = tf.nest.flatten(concrete(*inputs))
    assigned = [captured[i - len(inputs)] for i in updated]
    for variable, value in zip(captured, unchanged, strict=True):
        if not any(variable is x for x in assigned):
            np.testing.assert_array_equal(variable, value)
    return found, [*wanted, *assigned]


def check(step, variables, *inputs):
    found, wanted = both(step, variables, *inputs)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
