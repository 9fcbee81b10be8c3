"""Locality: sharper scores, and none for the position itself."""

import keras
from keras import ops

from keras_attn.modifiers.modifier import Modifier


@keras.saving.register_keras_serializable(package="keras_attn")
class Locality(Modifier):
    """Hides each position from itself, and learns how sharply a head looks.

        score(q, k) = q · k / temperature(head)        k ≠ q, else hidden

    A temperature for each head, from √depth on, falls where attention should
    be sharper; and a token that cannot attend to itself, which resembles it
    most, has to look at others. For self-attention: a position is the same
    for the query and for the key. `LocalitySelfAttention` is the layer.

    Reference:
        Lee et al. 2021, section 3.3. https://arxiv.org/abs/2112.13492
    """

    def build(self, query_shape, key_shape):
        heads, self._depth = query_shape[-2:]
        self.temperature = self.add_float32_weight(
            "temperature",
            (heads,),
            keras.initializers.Constant(self._depth**0.5),
        )

    def built_for(self):
        return {"heads": self.temperature.shape[0], "depth": self._depth}

    def query_heads(self, query, positions):
        # Attention divides by √depth, which the temperature stands for.
        sharpness = self._depth**0.5 / self.temperature
        dtype = keras.backend.result_type(query.dtype, "float32")
        scaled = ops.cast(query, dtype) * ops.cast(sharpness, dtype)[:, None]
        return ops.cast(scaled, query.dtype)

    def visible(self, query_positions, key_positions):
        return query_positions[:, :, None] != key_positions[:, None, :]
