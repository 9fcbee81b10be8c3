"""Flags of every training: devices, precision, XLA and checkpoints."""

import contextlib
import dataclasses
import functools
import pathlib

import keras

from keras_attn import training


@dataclasses.dataclass(frozen=True)
class Training:
    """How a model is trained, whatever it learns."""

    strategy: str = "auto"  # or cpu, mirrored, multi_worker, tpu
    precision: str = "float32"  # or mixed_bfloat16, mixed_float16
    jit_compile: bool = False  # XLA: quicker steps, after minutes of compiling
    checkpoints: str = ""  # a folder: the same command continues a killed run

    def find_devices(self):
        """Make the strategy, which other machines ask for before all else."""
        return devices(self.strategy)

    @contextlib.contextmanager
    def scope(self):
        """Models that are made and compiled in here train as it was asked."""
        before = keras.config.dtype_policy()
        keras.config.set_dtype_policy(self.precision)
        try:
            with self.find_devices().scope():
                yield
        finally:
            keras.config.set_dtype_policy(before)

    def checkpoints_of(self, *names):
        """The folder of one of the models of a run; None without any.

        Args:
            *names: What tells it from the others, such as a name and a seed.
        """
        if not self.checkpoints:
            return None
        return pathlib.Path(self.checkpoints, *map(str, names))


@functools.cache
def devices(name):
    """The strategy of that name: one for a run, whose models share weights."""
    return training.strategy(name)
