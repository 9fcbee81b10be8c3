"""Where in a run a checkpoint was saved."""

import dataclasses


@dataclasses.dataclass
class Position:
    """How far a run has come.

    Args:
        epoch: The epoch, as Keras counts them.
        step: How many batches of it were trained on.
        epochs: How many epochs are complete.
        batches: How many batches were trained on in all.
    """

    epoch: int = 0
    step: int = 0
    epochs: int = 0
    batches: int = 0

    def begin_epoch(self, epoch: int) -> None:
        """An epoch begins."""
        self.epoch, self.step = epoch, 0

    def train(self, step: int, batches: int) -> None:
        """So many more batches: the epoch has come to `step`."""
        self.step = step
        self.batches += batches

    def end_epoch(self) -> None:
        """The epoch is complete: the next one is about to begin."""
        self.epoch, self.step = self.epoch + 1, 0
        self.epochs += 1
