"""A learning rate that falls in a straight line."""

import keras
from keras import ops

from keras_attn.base import argument_checks


@keras.saving.register_keras_serializable(package="keras_attn")
class WarmupLinear(keras.optimizers.schedules.LearningRateSchedule):
    """Rises in a straight line, then falls in another: BERT's.

        rate(n) = peak · n / warmup_steps                 up to warmup_steps
        rate(n) = final + (peak - final) · (1 - done)             afterwards
        done = (n - warmup_steps) / (total_steps - warmup_steps), at most 1

    for the n-th update, counted from 1. Keras counts from 0, so n = step + 1:
    the first update never has rate 0, the `warmup_steps`-th has the peak, and
    the `total_steps`-th and all later ones have `final`.

    Args:
        peak: The highest rate.
        warmup_steps: Number of updates up to the peak; 0 for no warm-up.
        total_steps: Number of updates after which the rate is `final`.
        final: The last rate.

    Reference:
        Devlin et al. 2019, appendix A.2. https://arxiv.org/abs/1810.04805
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
        left = 1 - ops.clip(done, 0.0, 1.0)
        falling = self.final + (self.peak - self.final) * left
        return ops.where(n <= self.warmup_steps, rising, falling)

    def get_config(self):
        return {
            "peak": self.peak,
            "warmup_steps": self.warmup_steps,
            "total_steps": self.total_steps,
            "final": self.final,
        }
