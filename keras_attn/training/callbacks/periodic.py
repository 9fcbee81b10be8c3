"""Something that is done at the end of every k-th epoch."""

import contextlib
import pathlib
import warnings

import keras
import tensorflow as tf

from keras_attn.base import argument_checks


class Periodic(keras.callbacks.Callback):
    """Does what `report` says at the end of every k-th epoch.

    What the user's own functions raise ends the training. A disk that is full
    does not: files are written inside `may_fail`, which warns once.

    Args:
        every: At the end of how many epochs it reports once.
    """

    def __init__(self, every: int):
        super().__init__()
        self.every = argument_checks.integer(every, "every", at_least=1)
        self._has_warned = False

    def report(self, epoch: int, logs: dict) -> None:
        """Do it, after `epoch` epochs; what is put into `logs` is seen."""
        raise NotImplementedError

    def on_epoch_end(self, epoch, logs=None):
        if (epoch + 1) % self.every == 0:
            self.report(epoch + 1, {} if logs is None else logs)

    @contextlib.contextmanager
    def may_fail(self, path: pathlib.Path):
        """Warn, the first time, if what is written here cannot be."""
        try:
            yield
        except (OSError, tf.errors.OpError) as error:
            if not self._has_warned:
                self._has_warned = True
                warnings.warn(
                    f"{type(self).__name__} could not write {path}: {error}. "
                    "The training goes on, and this is not said again.",
                    stacklevel=2,
                )

    def append(self, path: pathlib.Path, text: str) -> None:
        """Add text to a file, which is made if there is none."""
        with self.may_fail(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            # Closed each time, so that all of it is there if the run dies.
            with path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(text)
