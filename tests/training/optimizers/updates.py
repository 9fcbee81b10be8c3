"""Updates of weights by given gradients, as `fit` has them."""

import keras
import tensorflow as tf


def make_variables(values):
    """A float64 weight of each value, by its name."""
    return [
        keras.Variable(value, dtype="float64", name=name)
        for name, value in values.items()
    ]


def apply_updates(optimizer, variables, gradients, *, jit_compile):
    """Build the optimizer and apply a list of gradients for each step."""
    optimizer.build(variables)

    @tf.function(jit_compile=jit_compile)
    def step(*gradients):
        optimizer.apply(gradients)

    for each in gradients:
        step(*map(tf.constant, each))
