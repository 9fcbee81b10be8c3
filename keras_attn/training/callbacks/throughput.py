"""How much a training run gets done in a second, and in how much memory."""

import json
import math
import os
import pathlib
import threading
import time

from keras import ops

from keras_attn.base import argument_checks
from keras_attn.training.callbacks.data_wait import DataWait
from keras_attn.training.callbacks.matmul_peak import matmul_peak
from keras_attn.training.callbacks.peak_memory import accelerator_peak
from keras_attn.training.callbacks.peak_memory import process_peak
from keras_attn.training.callbacks.periodic import Periodic

_IN_LOGS = ("_per_second", "_utilisation", "memory_bytes", "_share")


class Throughput(Periodic):
    """Steps/s, tokens/s, utilisation and memory of an epoch of training.

        tokens_per_second      = tokens / seconds
        model_flop_utilisation = flops · steps / seconds / peak

        data_wait_share        = seconds of waiting for batches / seconds

    Seconds run from the beginning of the epoch to the end of its last step,
    without validation; tracing and compiling are mostly in the first epoch's
    `first_step_seconds`. Of an epoch that `training.fit` continues, it is what
    is left of it. Waiting is not told if `steps_per_execution` is above 1.
    Memory is the peak so far, of the process and of the fullest accelerator.

    Args:
        count: The name of a compiled metric that averages the items, such as
            "masked_accuracy" for real tokens (exactly, unless it is one of
            `weighted_metrics`) or "loss" for rows; or how many items each
            step has; or None for steps alone.
        unit: What the items are, "images" for example; it names the figures.
        flops: FLOP of one step, forward and backward. The peak is measured
            when training begins, in half a second of float32 products; mixed
            precision may exceed it.
        every: Of how many epochs one is reported.
        file: A file that gets a line of JSON for each report, or None.

    Reference:
        Chowdhery et al. 2022, section 4.1. https://arxiv.org/abs/2204.02311
    """

    # Keras may then hand steps over without waiting for the device.
    async_safe = True

    def __init__(
        self,
        count: str | float | None = None,
        *,
        unit: str = "tokens",
        flops: float | None = None,
        every: int = 1,
        file: str | os.PathLike | None = None,
    ):
        super().__init__(every)
        if count is not None and not isinstance(count, str):
            argument_checks.above(count, "count")
        if flops is not None:
            argument_checks.above(flops, "flops")
        if not isinstance(unit, str) or unit in ("", "steps"):
            raise ValueError(
                "`unit` must be the name of what is counted beside steps. "
                f"Received: unit={unit!r}"
            )
        self.count = count
        self.unit = unit
        self.flops = flops
        self.file = None if file is None else pathlib.Path(file)
        self._lock = threading.Lock()
        self._metric = None
        self._wait = None
        self._peak = None

    def on_train_begin(self, logs=None):
        self._metric = self._wait = None
        if self.model.steps_per_execution == 1:
            self._wait = DataWait.of(self.model)
        if self.flops is not None and self._peak is None:
            self._peak = matmul_peak()

    def on_epoch_begin(self, epoch, logs=None):
        self._steps, self._has_begun = 0, False
        self._first = self._last = None
        self._items = None
        self._before = self._items_before = 0
        self._start = time.perf_counter()
        self._start_waiting()

    def on_train_batch_begin(self, batch, logs=None):
        if batch and not self._has_begun:
            # A killed run had come so far in this epoch.
            self._before = batch
            self._items_before = self._count() or 0
            self._start = time.perf_counter()
            self._start_waiting()
        self._has_begun = True

    def on_train_batch_end(self, batch, logs=None):
        now = time.perf_counter()
        # Keras calls this from several threads, and perhaps not in order.
        with self._lock:
            # There are no compiled metrics before the first step.
            self._find_metric()
            self._steps = max(self._steps, batch + 1)
            self._first = min(now, self._first or now)
            self._last = max(now, self._last or now)

    def on_test_begin(self, logs=None):
        # Validation, which begins by setting all metrics to 0.
        self._count_items()

    def on_epoch_end(self, epoch, logs=None):
        self._count_items()
        if self._steps:
            super().on_epoch_end(epoch, logs)

    def on_train_end(self, logs=None):
        if self._wait is not None:
            self.model.train_function = self._wait.train_function

    def report(self, epoch, logs):
        figures = self._figures()
        logs.update(
            (name, value)
            for name, value in figures.items()
            if name.endswith(_IN_LOGS)
        )
        if self.file is not None:
            line = json.dumps({"epoch": epoch, **figures}, allow_nan=False)
            self.append(self.file, f"{line}\n")

    def _figures(self):
        # The last of several steps in one execution may be missing.
        steps = min(self._steps, self.params.get("steps") or math.inf)
        steps -= self._before
        seconds = self._last - self._start
        items = self._items
        if self.count is not None and self._metric is None:
            items = self.count * steps
        figures = {
            "steps": steps,
            "seconds": seconds,
            "first_step_seconds": self._first - self._start,
            "steps_per_second": steps / seconds,
        }
        if self._wait is not None:
            figures["data_wait_share"] = self._waited / seconds
        # Weights that someone has given may be anything, JSON only numbers.
        if items is not None and math.isfinite(items):
            figures[self.unit] = items
            figures[f"{self.unit}_per_second"] = items / seconds
        if self._peak is not None:
            reached = self.flops * steps / seconds
            figures["peak_flops"] = self._peak
            figures["model_flop_utilisation"] = reached / self._peak
        figures["peak_memory_bytes"] = process_peak()
        figures["accelerator_peak_memory_bytes"] = accelerator_peak()
        return {k: v for k, v in figures.items() if v is not None}

    def _count_items(self):
        if self._items is None and self._steps:
            self._waited = self._wait and self._wait.seconds
            items = self._count()
            if items is not None:
                self._items = items - self._items_before

    def _count(self):
        """What the metric has counted since `fit` set it to 0, if there is one.

        A continued epoch's metrics are as a killed run has left them.
        """
        self._find_metric()
        if self._metric is None:
            return None
        return float(ops.convert_to_numpy(self._metric.count))

    def _find_metric(self):
        if isinstance(self.count, str) and self._metric is None:
            self._metric = _find_metric(self.model, self.count)

    def _start_waiting(self):
        if self._wait is not None:
            self._wait.seconds = 0.0


def _find_metric(model, name):
    """The one metric of this name that counts what it averages."""
    metrics = []
    for metric in model.metrics:
        # Those that `compile` was given are inside of one.
        metrics += getattr(metric, "metrics", [metric])
    counting = [metric for metric in metrics if hasattr(metric, "count")]
    found = [metric for metric in counting if metric.name == name]
    if len(found) != 1:
        raise ValueError(
            "`count` must name one compiled metric that averages what is "
            f"counted. Received: count={name!r}; the model has "
            f"{[metric.name for metric in counting]}. Give "
            "metrics=[keras_attn.training.MaskedAccuracy()] to `compile`, or "
            "say how many items each step has."
        )
    return found[0]
