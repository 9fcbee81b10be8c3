"""The jax that a TensorFlow can take a kernel from."""

import importlib.metadata
import importlib.util
import os

import tensorflow as tf

# What jax serialises, TensorFlow must be able to read: for each TensorFlow the
# first jax and the one after the last. The kernel's tests were run,
# interpreted, with 2.20 and jax 0.7.2, and with 2.21 and jax 0.10.2.
SEASONS = {
    (2, 20): ((0, 7), (0, 8)),
    (2, 21): ((0, 10), (0, 11)),
}


def reason_against_jax() -> str:
    """Why this TensorFlow can take no kernel from jax; empty if it can."""
    season = SEASONS.get(_numbers(tf.__version__))
    if season is None:
        return (
            "The fused kernel is for TensorFlow "
            f"{' and '.join(_text(x) for x in SEASONS)}. This is "
            f"{tf.__version__}: take `implementation='tiled'`."
        )
    first, end = season
    wanted = f'pip install "jax>={_text(first)},<{_text(end)}"'
    if importlib.util.find_spec("jax") is None:
        return f"The fused kernel needs jax: {wanted}, or keras_attn[tpu]."
    version = importlib.metadata.version("jax")
    if not first <= _numbers(version) < end:
        return (
            f"jax {version} is not of the season of TensorFlow "
            f"{tf.__version__}, which may not read its kernels: {wanted}."
        )
    return ""


def import_jax():
    """Import jax so that it never takes a TPU from TensorFlow.

    A chip serves one process, and in this one it is TensorFlow's: jax only
    writes the kernel down.

    Returns:
        The module.

    Raises:
        ImportError: If there is no jax, or one of another season.
    """
    reason = reason_against_jax()
    if reason:
        raise ImportError(reason)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    # If somebody has imported it before; without effect once it has devices.
    jax.config.update("jax_platforms", "cpu")
    return jax


def _numbers(version):
    return tuple(map(int, version.split(".")[:2]))


def _text(numbers):
    return ".".join(map(str, numbers))
