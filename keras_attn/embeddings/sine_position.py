"""Positions as sines and cosines."""

import keras

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.embeddings import merging
from keras_attn.ops import masks
from keras_attn.ops.positions import sinusoidal_encoding


@keras.saving.register_keras_serializable(package="keras_attn")
class SinePosition(Layer):
    """Sinusoidal positions: sines of falling frequencies.

        encoding(p, 2i)     = sin(p / base^(2i / units))
        encoding(p, 2i + 1) = cos(p / base^(2i / units))
        output = inputs + encoding,  or  [inputs, encoding]

    Each position is unique and bounded, nothing is learned, and it works past
    the lengths of training.

    Args:
        units: Length of a position's vector; that of the features if not given,
            which "add" needs.
        merge: "add" or "concat".
        base: The slowest sine has a wavelength of about 2π · base positions.

    Call arguments:
        inputs: (batch, length, features).
        positions: (batch or 1, length) integers; 0, 1, 2, … if not given.

    Returns:
        (batch, length, features), or (batch, length, features + units).

    Reference:
        Vaswani et al. 2017, section 3.5. https://arxiv.org/abs/1706.03762
    """

    def __init__(
        self,
        units: int | None = None,
        *,
        merge: str = "add",
        base: float = 10000.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        merging.check(merge, units)
        argument_checks.above(base, "base", 1)
        self.units = units
        self.merge = merge
        self.base = base
        self.supports_masking = True

    def build(self, input_shape):
        merging.width(self.units, input_shape[-1], self.merge)

    def call(self, inputs, positions=None):
        if positions is None:
            positions = masks.from_start(inputs)
        units = self.units or inputs.shape[-1]
        encoding = sinusoidal_encoding(positions, units, self.base)
        return merging.merge_positions(inputs, encoding, self.merge)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "merge": self.merge,
            "base": self.base,
        }
