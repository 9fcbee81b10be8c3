"""A convolution over time that padding does not reach."""

import keras

from keras_attn.base.empty_batch import apply_to_rows
from keras_attn.base.layer import Layer
from keras_attn.ops import masks


@keras.saving.register_keras_serializable(package="keras_attn")
class MaskedConvolution(Layer):
    """A 1-D convolution for which padding is what lies beyond the end.

        output(t) = relu(Σ W(i) x(t + i) + b)    |i| ≤ kernel_size / 2

    with x = 0 where there is no step.

    Args:
        units: Features of the output.
        kernel_size: Steps that a step is computed from.

    Call arguments:
        inputs: (batch, time, features).
        mask: (batch, time) padding mask; filled in by Keras.

    Returns:
        (batch, time, units).

    Reference:
        Kalchbrenner et al. 2014, section 3. https://arxiv.org/abs/1404.2188
    """

    def __init__(self, units: int, kernel_size: int, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.kernel_size = kernel_size
        self.convolution = keras.layers.Conv1D(
            units,
            kernel_size,
            padding="same",
            activation="relu",
            name="convolution",
            dtype=self.dtype_policy,
        )
        self.supports_masking = True

    def build(self, input_shape):
        self.convolution.build(input_shape)

    def call(self, inputs, mask=None):
        inputs = masks.zero_padding(inputs, mask, "mask")
        return apply_to_rows(self.convolution, inputs)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "kernel_size": self.kernel_size,
        }
