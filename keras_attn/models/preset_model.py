"""What every model here is: a functional model that knows its arguments."""

import functools
from collections.abc import Callable
from typing import ClassVar

import keras

from keras_attn.base import quantization
from keras_attn.base.seed_state import seed_state_of
from keras_attn.base.tracking import hidden_children
from keras_attn.models import constructor_call
from keras_attn.models import prompts
from keras_attn.models.checkpoint import Checkpoint
from keras_attn.training.distribution.distributed_fit import DistributedFit


class PresetModel(DistributedFit, keras.Model):
    """A functional `keras.Model` with the constructor's arguments as config.

    The constructor of each subclass is recorded as it is called. `config`
    holds the arguments of the model that stands directly on this class, with
    its defaults: what the network is made of. `get_config` holds those of the
    class itself: what makes it again. They differ where a class is derived
    from a model and has a constructor of its own.

    Args:
        inputs, outputs: As for `keras.Model`.
        dtype: Dtype or policy of the layers; Keras' own at this moment if
            None.
    """

    # The constructor's arguments of published sizes, by name. A subclass has
    # those of its model, or its own.
    presets: ClassVar[dict[str, dict]] = {}

    # Functions `read(cls, checkpoint, **overrides)` that make the model of a
    # Hugging Face folder, by the `model_type` in its config.json.
    readers: ClassVar[dict[str, Callable]] = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            cls.__init__ = constructor_call.recorded(cls.__init__)

    def __init__(self, inputs, outputs, *, dtype, **kwargs):
        super().__init__(inputs, outputs, **kwargs)
        # A functional model takes no dtype; `compile` asks for it, to scale
        # the loss in half precision.
        self.dtype_policy = keras.dtype_policies.get(dtype)
        self.config = constructor_call.innermost(self).own_config()

    def __call__(self, inputs, *args, **kwargs):
        # Before Keras looks at the inputs: it takes no ragged ones.
        inputs = prompts.as_rows(inputs, self.config.get("pad_id"))
        return super().__call__(inputs, *args, **kwargs)

    @classmethod
    def from_preset(cls, name: str, **overrides):
        """Make a published size, with random weights.

        Args:
            name: Name of the size; a wrong one gets a list of them.
            overrides: Arguments of the constructor.
        """
        if name not in cls.presets:
            raise ValueError(
                f"{cls.__name__} has the presets {list(cls.presets)}. "
                f"Received: {name!r}"
            )
        return cls(**{**cls.presets[name], **overrides})

    @classmethod
    def from_huggingface(cls, folder, **overrides):
        """Read a model that Hugging Face's `save_pretrained` wrote.

        Args:
            folder: Holds `config.json` and the weights (safetensors).
            overrides: Arguments of the constructor, such as `dtype`.
        """
        return cls.from_checkpoint(Checkpoint(folder), **overrides)

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint, **overrides):
        """Make the model of a folder; see `from_huggingface`."""
        kind = checkpoint.config.get("model_type")
        if kind not in cls.readers:
            raise ValueError(
                f"{checkpoint.path} has model_type={kind!r}; "
                f"{cls.__name__} reads {sorted(cls.readers)}."
            )
        return cls.readers[kind](cls, checkpoint, **overrides)

    @classmethod
    def checkpoint_task(cls, checkpoint: Checkpoint) -> dict:
        """Arguments that a folder's `architectures` stand for."""
        return {}

    def get_config(self):
        call = constructor_call.outermost(self)
        further = {
            "name": self.name,
            "dtype": keras.dtype_policies.serialize(self.dtype_policy),
        }
        taken = {k: v for k, v in further.items() if call.takes(k)}
        if call is constructor_call.innermost(self):
            config = {**self.config, **taken}
        else:
            config = {**call.config(type(self).__name__), **taken}
        modes = quantization.modes(self)
        return {**config, "quantized": modes} if modes else config

    @classmethod
    def from_config(cls, config, custom_objects=None):
        modes = config.get("quantized", {})
        given = keras.saving.deserialize_keras_object(
            {key: config[key] for key in config if key != "quantized"},
            custom_objects=custom_objects,
        )
        model = cls(**given)
        quantization.restore(model, modes)
        return model

    @functools.cached_property
    def _seed_state(self):
        return seed_state_of(self, self._layers_by_name())

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        children = super()._trackable_children(save_type, **kwargs)
        if save_type == "checkpoint":
            children |= hidden_children(self, self._layers_by_name())
        return children

    def _layers_by_name(self):
        return {layer.name: layer for layer in self.layers}
