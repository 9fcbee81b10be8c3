"""What every model here is: a functional model that knows its arguments."""

import keras

from keras_attn.blocks.unshared import unshared
from keras_attn.models import presets


class PresetModel(keras.Model):
    """A functional `keras.Model` with the constructor's arguments as config.

    Args:
        inputs, outputs: As for `keras.Model`.
        config: The arguments with which the subclass was made.
        dtype: Dtype or policy of the layers; Keras' own at this moment if
            None.
    """

    def __init__(self, inputs, outputs, config: dict, *, dtype, **kwargs):
        super().__init__(inputs, outputs, **kwargs)
        # A functional model takes no dtype; `compile` asks for it, to scale
        # the loss in half precision.
        self.dtype_policy = keras.dtype_policies.get(dtype)
        self.config = unshared(config)

    @classmethod
    def from_preset(cls, name: str, **overrides):
        """Make a published size, with random weights.

        Args:
            name: Name of the size; a wrong one gets a list of them.
            overrides: Arguments of the constructor.
        """
        return cls(**{**presets.find(cls.__name__, name), **overrides})

    def make_train_function(self, force=False):
        # Keras makes the optimizer's weights while the first step is traced,
        # which makes TensorFlow trace that step twice, and keep both.
        if not self.optimizer.built:
            self.optimizer.build(self.trainable_variables)
        return super().make_train_function(force)

    def get_config(self):
        return {
            **self.config,
            "name": self.name,
            "dtype": keras.dtype_policies.serialize(self.dtype_policy),
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        given = keras.saving.deserialize_keras_object(
            config, custom_objects=custom_objects
        )
        return cls(**given)
