"""Where the fused kernel is to run."""

import contextlib
import contextvars

import tensorflow as tf

from keras_attn.ops.fused.season import reason_against_jax

_target = contextvars.ContextVar("target", default=None)


@contextlib.contextmanager
def lowered_for(target: str):
    """Say what a function that is traced will run on.

        with lowered_for("tpu"): step.experimental_get_compiler_ir(…)

    Args:
        target: "tpu"; "interpreter", which runs the TPU's kernel on a CPU, step
            by step and slowly, to check it; or "core" for TensorFlow's core ops
            wherever it is, as in a SavedModel.
    """
    token = _target.set(target)
    try:
        yield
    finally:
        _target.reset(token)


def kernel_target() -> str:
    """Where a function that is traced now will run: as `lowered_for`."""
    return _target.get() or ("tpu" if _is_on_tpu() else "core")


def is_preferred() -> bool:
    """Whether "auto" should take the kernel: on a TPU, if jax is there."""
    return kernel_target() == "tpu" and not reason_against_jax()


def _is_on_tpu():
    strategy = tf.distribute.get_strategy()
    return isinstance(strategy, tf.distribute.TPUStrategy)
