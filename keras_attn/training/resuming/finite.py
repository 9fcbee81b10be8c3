"""Losses that are numbers."""

import math

import numpy as np


class LossCheck:
    """Stops a run whose loss is not finite any more.

    A loss is looked at one step late, when the device has it anyhow.

    Args:
        last_checkpoint: A function that names the last checkpoint, or None.
    """

    def __init__(self, last_checkpoint):
        self._last_checkpoint = last_checkpoint
        self._waiting = None

    def later(self, step: int, logs) -> None:
        """Look at the step before, and remember this one."""
        self.flush()
        self._waiting = step, logs

    def flush(self) -> None:
        """Look at what was remembered."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self.now(*waiting)

    def now(self, step: int, logs) -> None:
        """Look at the losses of a step.

        Raises:
            FloatingPointError: If one is not finite.
        """
        for name, value in losses(logs).items():
            if not math.isfinite(value):
                last = self._last_checkpoint()
                raise FloatingPointError(
                    f"{name} is {value} after step {step}. "
                    + (
                        f"The last good checkpoint is {last}. "
                        if last
                        else "There is no checkpoint yet. "
                    )
                    + "A lower learning rate or `clipnorm` may help."
                )


def losses(logs) -> dict:
    """What in the logs of a step or an epoch is a loss of training."""
    return {
        name: float(np.asarray(value))
        for name, value in (logs if isinstance(logs, dict) else {}).items()
        if name.endswith("loss")
        and not name.startswith("val_")
        and np.ndim(value) == 0
    }
