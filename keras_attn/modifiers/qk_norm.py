"""Query-key normalisation: scores that do not depend on lengths of vectors."""

import keras

from keras_attn.base import argument_checks
from keras_attn.modifiers.modifier import Modifier
from keras_attn.ops.normalization import rms_norm


@keras.saving.register_keras_serializable(package="keras_attn")
class QKNorm(Modifier):
    """Normalises each head of the query and of the key, then scales it.

        query_heads(q) = g ⊙ q / √(mean(q²) + epsilon)
        key_heads(k)   = h ⊙ k / √(mean(k²) + epsilon)

    with learned g and h of length depth that all heads share. Scores stay
    bounded however the projections grow, so large models and large learning
    rates stay stable. Give it before `Rotary`, as Qwen3 does; computed in
    float32.

    Args:
        epsilon: Keeps a head of zeros from dividing by zero.

    Reference:
        Henry et al. 2020, https://arxiv.org/abs/2010.04245; Dehghani et al.
        2023, section 2, https://arxiv.org/abs/2302.05442; with RMS as in
        Qwen3 2025, section 2, https://arxiv.org/abs/2505.09388
    """

    def __init__(self, *, epsilon: float = 1e-6, **kwargs):
        super().__init__(**kwargs)
        argument_checks.above(epsilon, "epsilon")
        self.epsilon = epsilon

    def build(self, query_shape, key_shape):
        self.query_scale = self.add_float32_weight(
            "query_scale", query_shape[-1:], "ones"
        )
        self.key_scale = self.add_float32_weight(
            "key_scale", key_shape[-1:], "ones"
        )

    def built_for(self):
        return {"depth": self.query_scale.shape[0]}

    def query_heads(self, query, positions):
        return rms_norm(query, self.query_scale, epsilon=self.epsilon)

    def key_heads(self, key, positions):
        return rms_norm(key, self.key_scale, epsilon=self.epsilon)

    def get_config(self):
        return {**super().get_config(), "epsilon": self.epsilon}
