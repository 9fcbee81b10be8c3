"""Token by token through a model, and what its graph is made of."""

import numpy as np
import tensorflow as tf


def step_through(model, state, tokens):
    """Feed (rows, length) tokens one by one.

    Returns:
        (rows, length, vocabulary) logits, and the last state.
    """
    logits = []
    for index in range(tokens.shape[1]):
        token = tf.constant(tokens[:, index], tf.int32)
        scores, state = model.step(token, state, index)
        logits.append(scores)
    return np.stack(logits, axis=1), state


def ops_of(function):
    """Names of all ops of a concrete function, those of its parts too."""
    graph = function.graph.as_graph_def()
    nodes = list(graph.node)
    for part in graph.library.function:
        nodes += part.node_def
    return {node.op for node in nodes}


def set_random(model, rng, scale=0.5):
    """Give every weight a random value, biases and norms included."""
    for weight in model.weights:
        value = scale * rng.normal(size=weight.shape)
        if weight.path.endswith("gamma"):
            value += 1
        elif weight.path.endswith("moving_variance"):
            value = 1 + abs(value)
        weight.assign(value)
