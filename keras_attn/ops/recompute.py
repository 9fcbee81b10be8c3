"""Computing again in a gradient what the forward pass did not keep."""

import tensorflow as tf


def not_before(upstream, *tensors) -> list:
    """Hold tensors back until a gradient has come.

    What a gradient recomputes often needs the layer's inputs alone. Left
    to itself, TensorFlow does that during the forward pass, as soon as it can
    be done, or merges it with the same op of that pass; both save, until the
    gradient comes, the activations that were to be recomputed.

    Args:
        upstream: The gradient that must be there first.
        tensors: What to recompute from.

    Returns:
        The same tensors, for ops that are to wait.
    """
    with tf.control_dependencies([upstream]):
        return [tf.identity(tensor) for tensor in tensors]


def recomputed(function):
    """Make a function whose gradient keeps the arguments alone.

    Args:
        function: From floating tensors to one tensor; the same each time, and
            of no variable that is not an argument.

    Returns:
        The function, which computes again what its gradient needs.
    """

    @tf.custom_gradient
    def with_gradient(*tensors):
        def gradient(upstream):
            late = not_before(upstream, *tensors)
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(late)
                again = function(*late)
            return tape.gradient(
                again,
                late,
                upstream,
                unconnected_gradients=tf.UnconnectedGradients.ZERO,
            )

        return function(*tensors), gradient

    return with_gradient
