"""Where attention is to run."""

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
        target: "tpu"; "gpu"; "interpreter", which runs the TPU's kernel on a
            CPU, step by step and slowly, to check it; or "core" for what is
            right anywhere, as in a SavedModel.
    """
    token = _target.set(target)
    try:
        yield
    finally:
        _target.reset(token)


def kernel_target() -> str:
    """Where a function that is traced now will run: as `lowered_for`."""
    if _target.get() is not None:
        return _target.get()
    if isinstance(tf.distribute.get_strategy(), tf.distribute.TPUStrategy):
        return "tpu"
    return "gpu" if tf.config.list_physical_devices("GPU") else "core"


def has_kernel() -> bool:
    """Whether the fused kernel can run there."""
    return kernel_target() in ("tpu", "interpreter")


def is_preferred() -> bool:
    """Whether "auto" should take the kernel: on a TPU, if jax is there."""
    return kernel_target() == "tpu" and not reason_against_jax()
