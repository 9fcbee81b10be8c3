"""Regions without the image as a whole."""

import keras

from keras_attn.base.layer import Layer


@keras.saving.register_keras_serializable(package="keras_attn")
class RegionsOnly(Layer):
    """Leaves out IMG, which `RegionEmbedding` has put before the regions.

        output(i) = inputs(i + 1)

    Call arguments:
        inputs: (batch, 1 + regions, features).

    Returns:
        (batch, regions, features), with their mask.
    """

    def call(self, inputs):
        return inputs[:, 1:]

    def compute_mask(self, inputs, previous_mask):
        return None if previous_mask is None else previous_mask[:, 1:]
