"""The Keras layer that every layer here is."""

import functools

import keras
from keras import tree

from keras_attn.base import quantization
from keras_attn.base.seed_state import seed_state_of
from keras_attn.base.tracking import hidden_children


class Layer(keras.layers.Layer):
    """A `keras.layers.Layer` that is whole for those who look at it.

    Its output's shape follows from a symbolic call, as `TimeDistributed` asks
    for it; `tf.train.Checkpoint` finds its layers in lists and the states of
    its random numbers, which Keras' files hold too; and those know which of
    its layers are quantised.
    """

    # What the inputs are where only their shapes are given; None stands for
    # the dtype that the layer computes in.
    symbolic_dtype = None

    def __call__(self, *args, **kwargs):
        for x in tree.flatten((args, kwargs)):
            # What a `tf.RaggedTensor` has; this room knows no TensorFlow.
            if hasattr(x, "row_splits"):
                raise ValueError(
                    f"{type(self).__name__} takes dense tensors. Received a "
                    f"RaggedTensor of shape {tuple(x.shape)}. Fill it up with "
                    "`x.to_tensor()`, and say what is padding by a mask: "
                    "`tf.sequence_mask(x.row_lengths())`."
                )
        return super().__call__(*args, **kwargs)

    def compute_output_spec(self, *args, **kwargs):
        """Describe what `call` returns, by tracing it."""
        # Keras' own would ask `compute_output_shape`, which asks here.
        return keras.Operation.compute_output_spec(self, *args, **kwargs)

    def compute_output_shape(self, *shapes):
        """Return the shape of what `call` returns, given its inputs' shapes."""
        layer = self
        if not self.built:
            # Asking for a shape must not make this layer's weights.
            layer = type(self).from_config(self.get_config())
            layer.build(*shapes)
        dtype = self.symbolic_dtype or self.compute_dtype
        inputs = [
            None if shape is None else keras.KerasTensor(shape, dtype)
            for shape in shapes
        ]
        outputs = layer.compute_output_spec(*inputs)
        return tree.map_structure(lambda output: tuple(output.shape), outputs)

    def get_build_config(self):
        modes = quantization.modes(self)
        config = super().get_build_config()
        return {**config, "quantized": modes} if modes else config

    def build_from_config(self, config):
        super().build_from_config(config)
        quantization.restore(self, (config or {}).get("quantized", ()))

    @functools.cached_property
    def _seed_state(self):
        # Keras' files take every saveable attribute; this one is not tracked.
        return seed_state_of(self)

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        children = super()._trackable_children(save_type, **kwargs)
        if save_type == "checkpoint":
            children |= hidden_children(self)
        return children
