"""A model of frames, for all frames of a sequence."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer


@keras.saving.register_keras_serializable(package="keras_attn")
class EachFrame(Layer):
    """What an encoder makes of every frame, each on its own.

        output(t) = encoder(inputs(t))

    As `keras.layers.TimeDistributed`, which hands the mask of the steps to
    the encoder; here it goes past, and all frames are one batch.

    Args:
        encoder: A functional model from frames to vectors.

    Call arguments:
        inputs: (batch, time, height, width, channels), or what else `encoder`
            takes.
        training: Given to `encoder`.

    Returns:
        (batch, time, features).

    Reference:
        Donahue et al. 2015, section 3. https://arxiv.org/abs/1411.4389
    """

    def __init__(self, encoder, **kwargs):
        super().__init__(**kwargs)
        argument_checks.vector_model(encoder, "frame_encoder")
        self.encoder = encoder
        self.supports_masking = True

    def call(self, inputs, training=None):
        batch, time, *frame = ops.shape(inputs)
        frames = ops.reshape(inputs, (batch * time, *frame))
        vectors = self.encoder(frames, training=training)
        size = self.encoder.output_shape[-1]
        return ops.reshape(vectors, (batch, time, size))

    def compute_output_spec(self, inputs, training=None):
        """Describe what `call` returns."""
        shape = (*inputs.shape[:2], self.encoder.output_shape[-1])
        return keras.KerasTensor(shape, self.encoder.compute_dtype)

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {**super().get_config(), "encoder": serialize(self.encoder)}

    @classmethod
    def from_config(cls, config):
        config["encoder"] = keras.saving.deserialize_keras_object(
            config["encoder"]
        )
        return cls(**config)
