"""What each token's score starts from."""

import keras
from keras import ops

from keras_attn.base.layer import Layer


@keras.saving.register_keras_serializable(package="keras_attn")
class LogitsBias(Layer):
    """Adds a learned number to the score of each token.

        output = logits + c

    Models that score tokens by the embedding's own matrix put it after that.

    Call arguments:
        logits: (batch, length, vocabulary).

    Returns:
        (batch, length, vocabulary).
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, logits_shape):
        self.bias = self.add_weight(
            name="bias", shape=(logits_shape[-1],), initializer="zeros"
        )

    def call(self, logits):
        return logits + ops.cast(self.bias, logits.dtype)
