"""Keras' layer normalisation, whose gradient saves few activations."""

import keras

from keras_attn.ops.normalization import layer_norm


class LayerNormalization(keras.layers.LayerNormalization):
    """Layer normalisation of the last axis, with `ops.normalization`.

    The weights, their names and the arguments are Keras'.

    Args:
        epsilon: Added to the variance.
    """

    def __init__(self, *, epsilon: float, **kwargs):
        super().__init__(epsilon=epsilon, **kwargs)
        self.supports_masking = True

    def call(self, inputs):
        outputs = layer_norm(
            inputs, self.gamma, self.beta, epsilon=self.epsilon
        )
        # Keras' layer takes inputs as they come.
        return keras.ops.cast(outputs, self.compute_dtype)
