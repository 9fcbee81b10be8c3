"""Soft cap: scores that cannot run away."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.modifiers.modifier import Modifier


@keras.saving.register_keras_serializable(package="keras_attn")
class SoftCap(Modifier):
    """Squeezes the scores smoothly into (-cap, cap).

        cap_scores(s) = cap · tanh(s / cap)

    Small scores stay as they are, great ones stop growing, and no weight can
    become 1 to the last bit: training stays stable. It acts on the scaled
    scores, before any bias is added.

    Args:
        cap: The bound; 50 in Gemma 2.

    Reference:
        Gemma team 2024, section 2. https://arxiv.org/abs/2408.00118
    """

    def __init__(self, cap: float, **kwargs):
        super().__init__(**kwargs)
        argument_checks.above(cap, "cap")
        self.cap = cap

    def cap_scores(self, scores):
        return self.cap * ops.tanh(scores / self.cap)

    def fused(self):
        return {"soft_cap": self.cap}

    def get_config(self):
        return {**super().get_config(), "cap": self.cap}
