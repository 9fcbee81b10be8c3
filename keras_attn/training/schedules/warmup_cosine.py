"""A learning rate that falls along half a cosine."""

import math

import keras
from keras import ops

from keras_attn.training.schedules.warmup_decay import WarmupDecay


@keras.saving.register_keras_serializable(package="keras_attn")
class WarmupCosine(WarmupDecay):
    """Rises in a straight line, then falls along half a cosine.

        rate(n) = peak · n / warmup_steps                 up to warmup_steps
        rate(n) = final + (peak - final) · (1 + cos(π done)) / 2  afterwards
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
        Loshchilov & Hutter 2017, equation 5. https://arxiv.org/abs/1608.03983
    """

    def left(self, done):
        return (1 + ops.cos(math.pi * done)) / 2
