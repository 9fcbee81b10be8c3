"""A step as StableHLO, lowered by TensorFlow for a kind of chip."""

import importlib.metadata
import pathlib
import re
import sys

import tensorflow as tf

from keras_attn.ops.fused.target import lowered_for
from keras_attn.training.accelerator import own_process
from keras_attn.training.accelerator import stablehlo
from keras_attn.training.accelerator.functional import functional_step


def lower(
    step, specs, donate=(), *, tpu: bool, timeout: float | None = None
) -> tuple[str, str]:
    """Write a step as StableHLO that jax can read.

    For a TPU it is lowered by TensorFlow's TPU build, where that is installed:
    by the op kernels that a TPU has. The ordinary build lowers with those of a
    CPU.

    Args:
        step, specs, donate: As for `accelerator_check`.
        tpu: Whether it is for a TPU.
        timeout: Seconds after which the TPU build is stopped.

    Returns:
        The module, and the build of TensorFlow that lowered it.
    """
    leaves = tf.nest.flatten(specs)
    given = [leaf for leaf in leaves if leaf is not None]
    for spec in given:
        _check_spec(spec)

    # TensorFlow lowers functions of tensors only, not of nests.
    @tf.function(jit_compile=True)
    def flat_step(*tensors):
        rest = iter(tensors)
        packed = [None if leaf is None else next(rest) for leaf in leaves]
        return step(*tf.nest.pack_sequence_as(specs, packed))

    owners = [
        number
        for number, nest in enumerate(specs)
        for leaf in tf.nest.flatten(nest)
        if leaf is not None
    ]
    donated = [place for place, owner in enumerate(owners) if owner in donate]
    python = tpu_python() if tpu else None
    # Attention is what it would be there: the TPU's kernel, a GPU's tiles.
    with lowered_for("tpu" if tpu else "gpu"):
        if python is None:
            build = f"tensorflow {tf.__version__}"
            write = flat_step.experimental_get_compiler_ir(*given)
            try:
                module = write(stage="stablehlo")
            except ValueError as error:
                raise _refusal(str(error), build) from error
        else:
            graph, updated = functional_step(
                flat_step.get_concrete_function(*given)
            )
            module, build = _lower_elsewhere(python, graph, timeout)
            donated += updated
    module = stablehlo.with_donated(module, donated)
    module = stablehlo.without_copies(module)
    return stablehlo.without_packed_booleans(module), build


def tpu_python() -> str | None:
    """The Python that has TensorFlow's TPU build, if there is one.

    This one, or that of the environment beside it: `.venv-tpu` for `.venv`,
    which `make accelerator` makes.
    """
    try:
        importlib.metadata.version("tensorflow-tpu")
        return sys.executable
    except importlib.metadata.PackageNotFoundError:
        beside = pathlib.Path(f"{sys.prefix}-tpu", "bin", "python")
        return str(beside) if beside.exists() else None


def _check_spec(spec):
    if not isinstance(spec, tf.TensorSpec):
        raise ValueError(
            f"XLA compiles for dense tensors only. Received: {spec!r}. Give a "
            "`tf.TensorSpec` for each."
        )
    if not spec.shape.is_fully_defined():
        raise ValueError(
            "XLA compiles for known shapes only. Received: a spec of shape "
            f"{tuple(spec.shape)}. Write every dimension as a number."
        )


def _lower_elsewhere(python, graph, timeout):
    """Lower in a process of the TPU build's own."""
    found = own_process.ask(
        "tpu_build.py",
        graph.SerializeToString(),
        python=python,
        name=f"TensorFlow's TPU build at {python}",
        timeout=timeout,
    )
    if "error" in found:
        raise _refusal(found["error"], found["build"])
    return found["module"], found["build"]


def _refusal(message, build):
    """What to say of a step that cannot be lowered, by name of the op."""
    missing = re.findall(r"No registered '(\w+)' OpKernel", message)
    if not missing:
        return ValueError(f"{build} cannot lower the step: {message}")
    ops = ", ".join(dict.fromkeys(missing))
    return ValueError(
        f"{build} cannot compile the step with XLA: it has no kernel for {ops}."
    )
