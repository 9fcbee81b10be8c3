"""Keras' RMS normalisation, whose gradient saves few activations."""

import keras

from keras_attn.ops.normalization import rms_norm


class RMSNormalization(keras.layers.RMSNormalization):
    """RMS normalisation of the last axis, with `ops.normalization`.

    The weights, their names and the arguments are Keras'.

    Args:
        epsilon: Added to the mean square.
    """

    def __init__(self, *, epsilon: float, **kwargs):
        super().__init__(epsilon=epsilon, **kwargs)
        # Otherwise Keras warns, and drops the mask.
        self.supports_masking = True

    def call(self, inputs):
        return rms_norm(inputs, self.scale, epsilon=self.epsilon)
