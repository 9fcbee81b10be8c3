"""The learning rate of the first transformer."""

import math

import keras
from keras import ops

from keras_attn.base import argument_checks


@keras.saving.register_keras_serializable(package="keras_attn")
class WarmupRsqrt(keras.optimizers.schedules.LearningRateSchedule):
    """Rises in a straight line, then falls with the root of the step.

        rate(n) = units^-0.5 · min(n^-0.5, n · warmup_steps^-1.5)
                = peak · min(n / warmup_steps, (warmup_steps / n)^0.5)

    for the n-th update, counted from 1 as in the paper. Keras counts from 0,
    so n = step + 1: the first update has rate(1), never 0, and the
    `warmup_steps`-th has the peak, (units · warmup_steps)^-0.5 unless given.
    The end of training need not be known.

    Args:
        units: Width of the model, (batch, length, units). The paper's: 512.
        warmup_steps: Number of updates up to the peak. The paper's: 4,000.
        peak: The highest rate, instead of `units`.

    Reference:
        Vaswani et al. 2017, section 5.3. https://arxiv.org/abs/1706.03762
    """

    def __init__(
        self,
        units: int | None = None,
        warmup_steps: int = 4000,
        *,
        peak: float | None = None,
    ):
        super().__init__()
        argument_checks.integer(warmup_steps, "warmup_steps", at_least=1)
        if (units is None) == (peak is None):
            raise ValueError(
                "The highest rate follows from `units`, or is given as `peak`: "
                f"pass one of them. Received: units={units}, peak={peak}"
            )
        if peak is None:
            argument_checks.integer(units, "units", at_least=1)
        else:
            argument_checks.above(peak, "peak")
        self.units = units
        self.warmup_steps = warmup_steps
        self.peak = peak

    def __call__(self, step):
        n = ops.cast(step, "float32") + 1
        rising = n / self.warmup_steps
        falling = ops.sqrt(self.warmup_steps / n)
        return self._highest() * ops.minimum(rising, falling)

    def get_config(self):
        return {
            "units": self.units,
            "warmup_steps": self.warmup_steps,
            "peak": self.peak,
        }

    def _highest(self):
        if self.peak is not None:
            return self.peak
        return 1 / math.sqrt(self.units * self.warmup_steps)
