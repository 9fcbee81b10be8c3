"""Parts of a servable that several signatures use."""

import contextlib
import contextvars
from collections.abc import Callable

import tensorflow as tf

_INLINED = contextvars.ContextVar("inlined", default=False)


def shared_function(function: Callable) -> Callable:
    """Have a function in the file once, whatever calls it.

    Args:
        function: Takes and returns tensors, of the same dtypes and shapes
            wherever it is called.

    Returns:
        A function that does the same. Within `inlined` it is part of its
        caller. It is no `tf.function`, which a
        SavedModel would offer to Python besides the signatures.
    """
    traced = tf.function(function, autograph=False)

    def call(*tensors, **options):
        chosen = function if _INLINED.get() else traced
        return chosen(*tensors, **options)

    return call


@contextlib.contextmanager
def inlined():
    """Have shared functions be parts of what is traced meanwhile.

    In a function that XLA compiles they must: a session rewrites the loops of
    all other functions into ops that XLA does not take.
    """
    token = _INLINED.set(True)
    try:
        yield
    finally:
        _INLINED.reset(token)
