"""A learning rate that rises in a straight line, and falls somehow."""

import keras
from keras import ops

from keras_attn.base import argument_checks


class WarmupDecay(keras.optimizers.schedules.LearningRateSchedule):
    """What schedules with a warm-up and an end share.

        rate(n) = peak · n / warmup_steps                 up to warmup_steps
        rate(n) = final + (peak - final) · left(done)             afterwards
        done = (n - warmup_steps) / (total_steps - warmup_steps), at most 1

    A subclass says what is `left`, from 1 at the peak to 0 at the end.
    """

    def __init__(
        self,
        peak: float,
        warmup_steps: int,
        total_steps: int,
        *,
        final: float = 0.0,
    ):
        super().__init__()
        argument_checks.above(peak, "peak")
        argument_checks.integer(warmup_steps, "warmup_steps", at_least=0)
        argument_checks.integer(
            total_steps, "total_steps", at_least=warmup_steps + 1
        )
        if not 0 <= final <= peak:
            raise ValueError(
                "`final` must be from 0 to `peak`. Received: "
                f"final={final}, peak={peak}"
            )
        self.peak = peak
        self.warmup_steps = warmup_steps
        self.total_steps = total_steps
        self.final = final

    def __call__(self, step):
        n = ops.cast(step, "float32") + 1
        # Without a warm-up no n is so low that the first is used.
        rising = self.peak * n / max(self.warmup_steps, 1)
        done = (n - self.warmup_steps) / (self.total_steps - self.warmup_steps)
        left = self.left(ops.clip(done, 0.0, 1.0))
        falling = self.final + (self.peak - self.final) * left
        return ops.where(n <= self.warmup_steps, rising, falling)

    def left(self, done):
        """The share of the way down that is left after a share is done."""
        raise NotImplementedError

    def get_config(self):
        return {
            "peak": self.peak,
            "warmup_steps": self.warmup_steps,
            "total_steps": self.total_steps,
            "final": self.final,
        }
