"""ALiBi: a penalty on distance, steeper in some heads than in others."""

import keras
from keras import ops

from keras_attn.modifiers.modifier import Modifier
from keras_attn.ops.positions import alibi_slopes


@keras.saving.register_keras_serializable(package="keras_attn")
class ALiBi(Modifier):
    """Adds a penalty that is linear in the distance between query and key.

        bias(q, k) = -slope(head) · |query position - key position|
        slope(i)   = 2^(-8 i / heads)        i = 1 … heads

    It has no weights and keeps working at lengths well beyond those of
    training. Without causality both directions are penalised alike. Numbers
    of heads that are no power of two get the paper's interpolated slopes.

    Reference:
        Press et al. 2022, section 3. https://arxiv.org/abs/2108.12409
    """

    def build(self, query_shape, key_shape):
        self.slopes = tuple(alibi_slopes(query_shape[-2]))

    def built_for(self):
        return {"heads": len(self.slopes)}

    def bias(self, parameters, query_positions, key_positions):
        distance = query_positions[:, :, None] - key_positions[:, None, :]
        distance = ops.cast(ops.abs(distance), "float32")[:, None]
        slopes = ops.convert_to_tensor(self.slopes, dtype="float32")
        return -slopes[:, None, None] * distance  # (batch, heads, query, key)
