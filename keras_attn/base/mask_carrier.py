"""A mask that goes on with the tensor it belongs to."""

import keras

from keras_attn.base.layer import Layer


@keras.saving.register_keras_serializable(package="keras_attn")
class MaskCarrier(Layer):
    """Returns what it is given, with a mask that later layers find.

        output = inputs

    Keras hands on the mask of a layer's first argument only: a layer that
    returns two sequences leads the second through this one.

    Call arguments:
        inputs: (batch, length, features).
        mask: (batch, length) booleans, False for padding; or None.

    Returns:
        (batch, length, features).
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs, mask=None):
        return inputs
