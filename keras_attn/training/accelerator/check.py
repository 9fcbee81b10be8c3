"""Whether a training step fits a TPU or GPU, asked of its own compiler."""

import dataclasses
import importlib.metadata
import importlib.util
import json
import sys

from keras_attn.training.accelerator import chips
from keras_attn.training.accelerator import own_process
from keras_attn.training.accelerator.lower import lower


@dataclasses.dataclass(frozen=True)
class AcceleratorCheck:
    """What the compiler says about a step on one chip.

        total   = temporary + arguments + outputs - outputs over arguments
        seconds = max(bytes moved / bandwidth, FLOPs / peak)
                  + bytes reduced / bandwidth of the links

    Bytes and FLOPs are the compiler's count, in which the body of a loop is
    gone through once: where there are loops, as in tiled attention and in
    recurrent models, they and the seconds are lower bounds. A chip's peak is
    that of half precision.

    Args:
        target: The chip.
        fits: Whether it compiles and fits in the chip's memory.
        reason: Why not, in the compiler's own words; empty if it fits.
        compile_seconds: How long compiling took.
        total_bytes, temporary_bytes, argument_bytes: Memory needed; None where
            the compiler refused.
        bytes_moved, flops: Between the chip and its memory, and of its
            arithmetic; None likewise.
        num_loops: How many loops were counted as if run once.
        all_reduce_bytes: What the chip sends to others to sum the gradients.
        largest_batch: Rows of the largest batch that is known to fit, if it
            was asked for: the other figures are of that one.
        lowered_by: The build of TensorFlow that lowered the step: for TPUs the
            TPU build, if `make accelerator` installed it.
    """

    target: str
    fits: bool
    reason: str
    compile_seconds: float
    total_bytes: int | None = None
    temporary_bytes: int | None = None
    argument_bytes: int | None = None
    bytes_moved: int | None = None
    flops: int | None = None
    num_loops: int = 0
    all_reduce_bytes: int = 0
    largest_batch: int | None = None
    lowered_by: str = ""

    @property
    def seconds(self) -> float | None:
        """What the chip's bandwidth and peak leave as the least time."""
        if self.bytes_moved is None:
            return None
        chip = chips.find(self.target)
        alone = max(
            self.bytes_moved / chip.bandwidth, self.flops / chip.peak_flops
        )
        return alone + self.all_reduce_bytes / chip.link_bandwidth


def accelerator_check(
    step,
    *specs,
    donate=(),
    target: str = "v5e",
    timeout: float = 3600.0,
) -> AcceleratorCheck:
    """Compile a step with the real compiler of a chip, without the chip.

        accelerator_check(step, tf.TensorSpec((8, 512, 64)), target="a100")

    It says whether the step compiles and fits in the memory of one chip, and
    how long it must take there at the least. No tensor of the step's size is
    made here.

    Args:
        step: A function, or a `tf.function`, that XLA can compile. Variables
            that it uses count as arguments, and are updated in place.
        specs: A `tf.TensorSpec` for each argument, or nests of them and of
            None, every dimension known.
        donate: Numbers of the arguments that may be overwritten by results
            of the same shape, such as a cache.
        target: A chip: "v4", "v5e", "v5p", "v6e", "a100", "h100", "l4" or
            "t4".
        timeout: Seconds after which the compiler is stopped, and before it the
            TPU build that lowers.

    Returns:
        An `AcceleratorCheck`.
    """
    require(target)
    tpu = not chips.find(target).gpu
    module, build = lower(step, specs, donate, tpu=tpu, timeout=timeout)
    return AcceleratorCheck(
        target=target,
        lowered_by=build,
        **_compile_elsewhere(target, module, timeout),
    )


def require(target: str):
    """Refuse a target that is unknown, or whose compiler is not installed."""
    packages = chips.find(target).packages
    missing = [name for name in packages if not _importable(name)]
    if not missing:
        return
    advice = "pip install keras_attn[accelerator]"
    if "jax_plugins.xla_cuda12" in missing and "jax" not in missing:
        version = importlib.metadata.version("jax")
        advice += (
            f" && pip install --no-deps jax-cuda12-plugin=={version} "
            f"jax-cuda12-pjrt=={version}"
        )
    raise ImportError(
        f"Compiling for {target!r} needs {', '.join(missing)}. Install with: "
        f"{advice}"
    )


def _importable(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the package that it would be in
        return False


def _compile_elsewhere(target, module, timeout):
    """Compile in a new process: jax's XLA and TensorFlow's do not mix."""
    return own_process.ask(
        "compile_only.py",
        module.encode(),
        json.dumps(chips.find(target).description()),
        python=sys.executable,
        name=f"The compiler for {target!r}",
        timeout=timeout,
        # libtpu lets one process in at a time, because a chip serves one; to
        # compile, it needs none.
        ALLOW_MULTIPLE_LIBTPU_LOAD="1",
    )
