"""Callbacks of a run that is saved, and continued where it was."""

import keras
import numpy as np

from keras_attn.training.resuming import callback_state
from keras_attn.training.resuming import state
from keras_attn.training.resuming import workers
from keras_attn.training.resuming.finite import LossCheck
from keras_attn.training.resuming.position import Position
from keras_attn.training.resuming.saver import Saver
from keras_attn.training.resuming.stream import Stream
from keras_attn.training.resuming.stream import discard
from keras_attn.training.resuming.termination import Termination


class RunCallbacks(keras.callbacks.CallbackList):
    """Keras' list of callbacks, with saving after the last of them.

    A list and not a callback: what is saved is what all callbacks have seen,
    and what is restored is not reset by one that comes later.

    In the epoch that a killed run has left, Keras counts its steps from 0.
    Until it comes to the place of the checkpoint nothing is trained and no
    callback is called.

    Args:
        callbacks: The user's.
        saver: Saves.
        stream: The data.
        save_every: After how many batches.
        termination: Notes a SIGTERM.
        checkpoint: Path, header and arrays of what to continue, or None.
        **options: As for Keras' list.
    """

    def __init__(
        self,
        callbacks,
        *,
        saver: Saver,
        stream: Stream,
        save_every: int,
        termination: Termination,
        checkpoint=None,
        **options,
    ):
        self._saver = saver
        self._stream = stream
        self._save_every = save_every
        self._termination = termination
        self._checkpoint = checkpoint
        self._position = Position()
        self._losses = LossCheck(saver.last)
        self._logs = {}
        self._is_saved = False
        self._is_alone = (
            workers.number_of_workers(saver.model.distribute_strategy) == 1
        )
        self._function = self._skipping = None
        # The epoch that is continued, and its steps that are done.
        self._continued, self._done = None, 0
        if checkpoint is not None:
            self._position = Position(**checkpoint[1]["position"])
            self._continued = self._position.epoch
            self._done = self._position.step
            self._logs = checkpoint[1]["logs"]
            saver.best = checkpoint[1]["best"]
        super().__init__(callbacks, **options)

    def on_train_begin(self, logs=None):
        super().on_train_begin(logs)
        if self._checkpoint is None:
            return
        self._restore()
        place = self._position
        number = self._stream.replay(
            batches=place.batches, epochs=place.epochs, step=place.step
        )
        self._continue_after(number)

    def on_epoch_begin(self, epoch, logs=None):
        super().on_epoch_begin(epoch, logs)
        if self._is_continued(epoch):
            # After Keras has reset metrics and callbacks have begun the epoch.
            self._restore()
            self._is_saved = True
        else:
            self._done = 0
            self._position.begin_epoch(epoch)
        self._is_cut = False

    def on_train_batch_begin(self, batch, logs=None):
        if batch >= self._done:
            super().on_train_batch_begin(batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        if batch < self._done:
            return
        number = self.model.steps_per_execution
        before = self._position.batches // self._save_every
        self._position.train(batch + 1, number)
        self._logs, self._is_saved = logs, False
        self._losses.later(self._position.batches, logs)
        super().on_train_batch_end(batch, logs)
        self._saver.writer.poll()
        is_due = self._position.batches // self._save_every > before
        self._is_cut = self.model.stop_training
        ends = self._must_end(is_due)
        if is_due or ends or self._is_cut:
            self._save()
        if ends:
            self._end()

    def on_test_begin(self, logs=None):
        # Keras has not reset the metrics yet. Validation may take long.
        self._save()
        super().on_test_begin(logs)

    def on_test_batch_end(self, batch, logs=None):
        super().on_test_batch_end(batch, logs)
        if self._must_end(is_due=False):
            self._end()

    def on_epoch_end(self, epoch, logs=None):
        self._losses.flush()
        self._losses.now(self._position.batches, logs)
        super().on_epoch_end(epoch, logs)
        if self._is_cut:
            # A callback has stopped training in mid-epoch: this is saved.
            return
        self._position.end_epoch()
        self._is_saved = False
        # What callbacks have added to the logs is in the history alone.
        self._save(self.model.history.history)
        if self._must_end(is_due=True):
            self._end()

    def on_train_end(self, logs=None):
        super().on_train_end(logs)
        self._saver.writer.wait()

    def let_go(self) -> None:
        """Leave the model as it was, however `fit` has ended."""
        if self.model.train_function is self._skipping:
            self.model.train_function = self._function

    def _is_continued(self, epoch):
        return epoch == self._continued and self._done > 0

    def _save(self, figures=None):
        if self._is_saved:
            return
        self._losses.flush()
        self._saver.save(self._position, self.callbacks, self._logs, figures)
        self._is_saved = True

    def _restore(self):
        path, header, arrays = self._checkpoint
        state.check(self.model, header["variables"], path)
        state.restore(self.model, header["variables"], arrays)
        callback_state.restore(self.callbacks, header["callbacks"], arrays)

    def _continue_after(self, number):
        """Let the first steps do nothing but read what was trained on."""
        function = self._function = self.model.train_function
        size = self.model.steps_per_execution
        left = self._done // size
        tolerance = size - 1 if self._stream.is_by_epoch else 0

        def train_function(iterator):
            nonlocal number, left
            discard(iterator, number, tolerance=tolerance)
            number = 0
            if left:
                left -= 1
                return {k: np.asarray(v) for k, v in self._logs.items()}
            self.model.train_function = function
            return function(iterator)

        self.model.train_function = self._skipping = train_function

    def _must_end(self, is_due):
        if self._is_alone:
            return self._termination.requested
        # All must save and end together, so they ask each other when they
        # save anyhow.
        return is_due and workers.any_of_them(
            self.model.distribute_strategy, self._termination.requested
        )

    def _end(self):
        self._termination.end(self._saver.last())
