"""Attention sinks: a score for attending to nothing."""

import keras
from keras import ops

from keras_attn.modifiers.modifier import Modifier


@keras.saving.register_keras_serializable(package="keras_attn")
class Sinks(Modifier):
    """Adds one learned score per head that attends to nothing.

        weight(k) = exp(score(k)) / (exp(sink) + Σ exp(score(j)))

    so the weights may sum to less than 1. Without it a head that has nothing
    to say must still attend to something, and learns to pile its weight on the
    first token, which a rolling window then loses.

    Reference:
        Xiao et al. 2024, section 3, https://arxiv.org/abs/2309.17453; one
        score per head as in gpt-oss 2025, section 2.2,
        https://arxiv.org/abs/2508.10925
    """

    def build(self, query_shape, key_shape):
        heads = query_shape[-2]
        self.scores = self.add_float32_weight("scores", (heads,), "zeros")

    def built_for(self):
        return {"heads": self.scores.shape[0]}

    def parameters(self):
        # The cast makes a tensor of the variable.
        return (ops.cast(self.scores, "float32"),)

    def sinks(self, parameters):
        (scores,) = parameters
        return scores

    def fused(self):
        return {}  # attention hands over the scores themselves
