"""Logits that cannot run away."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer


@keras.saving.register_keras_serializable(package="keras_attn")
class LogitSoftCap(Layer):
    """Squeezes the logits smoothly into (-cap, cap).

        output = cap · tanh(logits / cap)

    Args:
        cap: The bound; 30 in Gemma 2.

    Call arguments:
        logits: (batch, length, vocabulary).

    Returns:
        (batch, length, vocabulary).

    Reference:
        Gemma team 2024, section 2. https://arxiv.org/abs/2408.00118
    """

    def __init__(self, cap: float, **kwargs):
        super().__init__(**kwargs)
        argument_checks.above(cap, "logit_soft_cap")
        self.cap = cap
        self.supports_masking = True

    def call(self, logits):
        return self.cap * ops.tanh(logits / self.cap)

    def get_config(self):
        return {**super().get_config(), "cap": self.cap}
