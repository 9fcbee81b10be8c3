"""The gradients of a loss in some weights and not in others."""

from collections.abc import Callable

import tensorflow as tf


def loss_and_gradients(loss: Callable, weights, scaled: Callable):
    """Return a loss and its gradients in chosen weights.

    Args:
        loss: Takes nothing and returns a number.
        weights: Keras variables; what else the loss depends on is constant.
        scaled: What the loss goes through before it is differentiated, such
            as an optimizer's `scale_loss`.

    Returns:
        The loss, and a list with a gradient for each weight.
    """
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch([weight.value for weight in weights])
        value = loss()
        target = scaled(value)
    return value, tape.gradient(target, [weight.value for weight in weights])
