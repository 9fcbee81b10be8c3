"""What is saved of a run, and when it is the best."""

import dataclasses

import keras
import numpy as np

from keras_attn.base import argument_checks
from keras_attn.training.resuming import callback_state
from keras_attn.training.resuming import state
from keras_attn.training.resuming import workers
from keras_attn.training.resuming.background import BackgroundWriter
from keras_attn.training.resuming.folder import CheckpointFolder
from keras_attn.training.resuming.position import Position
from keras_attn.training.resuming.replicas import ReplicaReader


class Saver:
    """Copies a run's state to the host, and writes it while training goes on.

    Args:
        model: A compiled model.
        folder: Where to.
        writer: Writes; only in the first of several workers.
        data: What tells this data from other data.
        monitor: What is best by it: a name in the logs of epochs, or None.
        mode: Whether the best is its "min" or "max".
    """

    def __init__(
        self,
        model: keras.Model,
        folder: CheckpointFolder,
        writer: BackgroundWriter,
        *,
        data: dict,
        monitor: str | None = None,
        mode: str = "min",
    ):
        argument_checks.choice(mode, "mode", ("min", "max"))
        self.model = model
        self.folder = folder
        self.writer = writer
        self.data = data
        self.monitor = monitor
        self.mode = mode
        self.best = None
        self._reader = ReplicaReader(model.distribute_strategy)

    def save(
        self,
        position: Position,
        callbacks: list,
        logs: dict,
        figures: dict | None = None,
    ) -> None:
        """Save the run as it is.

        Args:
            position: How far it has come.
            callbacks: Those whose states are saved.
            logs: Of the last step.
            figures: At the end of an epoch its history, by name.
        """
        is_best = figures is not None and self._is_best(figures)
        arrays = state.capture(self.model, self._reader)
        header = {
            "position": dataclasses.asdict(position),
            "stopped": bool(self.model.stop_training) and not position.step,
            "data": self.data,
            "variables": state.describe(self.model),
            "callbacks": callback_state.capture(callbacks, arrays),
            "logs": plain(logs),
            "best": self.best,
        }
        if workers.is_chief(self.model.distribute_strategy):
            self.writer.submit(
                self.folder.save,
                position.batches,
                header,
                arrays,
                is_best=is_best,
            )

    def last(self):
        """Wait for what is being written; then name the newest checkpoint."""
        self.writer.wait()
        return next(iter(self.folder.files()), None)

    def _is_best(self, figures):
        if self.monitor is None:
            return False
        if not figures.get(self.monitor):
            raise ValueError(
                "`monitor` must name a figure of epochs. Received: "
                f"monitor={self.monitor!r}; there are {sorted(figures)}."
            )
        value = float(figures[self.monitor][-1])
        better = np.less if self.mode == "min" else np.greater
        if self.best is not None and not better(value, self.best):
            return False
        self.best = value
        return True


def plain(logs: dict) -> dict:
    """Logs as numbers, which JSON can hold."""
    return {name: np.asarray(value).tolist() for name, value in logs.items()}
