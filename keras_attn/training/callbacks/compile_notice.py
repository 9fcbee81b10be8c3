"""A line on standard error while a step is traced and compiled."""

import sys
import threading
import time

import keras

from keras_attn.base.wait_notice import SECONDS

_LOOKS_EACH_SECOND = 10


class CompileNotice(keras.callbacks.Callback):
    """Says so when a step takes long, as the first one of each shape does.

    TensorFlow traces a step once, and XLA compiles it for every shape that
    batches come in: with buckets that happens in the middle of an epoch, and
    the progress bar stands still. Nothing tells a callback what a step is
    doing, so the time that it takes does.

    Args:
        num_shapes: How many shapes there are, `len(lengths)` of
            `keras_attn.data.batches`; the line then says how many are left.
        after: Seconds after which a step takes long.
    """

    def __init__(
        self, num_shapes: int | None = None, *, after: float = SECONDS
    ):
        super().__init__()
        self.num_shapes = num_shapes
        self.after = after
        self._step = None
        self._long_steps = 0
        self._ended = threading.Event()

    def on_train_begin(self, logs=None):
        self._ended = threading.Event()
        # A run that fails never ends; the program must.
        watch = threading.Thread(
            target=self._watch, args=(self._ended,), daemon=True
        )
        watch.start()

    def on_train_batch_begin(self, batch, logs=None):
        self._step = batch + 1, time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        self._step = None

    def on_train_end(self, logs=None):
        self._ended.set()

    def _watch(self, ended):
        told = None
        while not ended.wait(min(self.after, 1 / _LOOKS_EACH_SECOND)):
            step = self._step
            if step is None or step == told:
                continue
            number, start = step
            if time.monotonic() - start >= self.after:
                told = step
                self._tell(number)

    def _tell(self, number):
        self._long_steps += 1
        shapes = ""
        if self.num_shapes is not None and self._long_steps <= self.num_shapes:
            shapes = f" (shape {self._long_steps} of {self.num_shapes})"
        print(
            f"\nkeras_attn.training: step {number} takes long; the first step "
            f"of each shape is traced and compiled{shapes} ...",
            file=sys.stderr,
            flush=True,
        )
