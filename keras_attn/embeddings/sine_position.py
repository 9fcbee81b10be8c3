"""Positions as sines and cosines."""

import keras
from keras import ops

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
    the lengths of training. On a grid, whose cells stand row by row in the
    sequence, the first half of the vector tells the row, the other the column.

    Args:
        units: Length of a position's vector; that of the features if not given,
            which "add" needs.
        merge: "add" or "concat".
        base: The slowest sine has a wavelength of about 2π · base positions.
        grid_width: Cells in a row of a grid; None for a line.
        interleaved: Whether sines and cosines take turns, as above; if not,
            all sines stand before all cosines, as in Marian.

    Call arguments:
        inputs: (batch, length, features).
        positions: (batch or 1, length) integers; 0, 1, 2, … if not given.

    Returns:
        (batch, length, features), or (batch, length, features + units).

    Reference:
        Vaswani et al. 2017, section 3.5. https://arxiv.org/abs/1706.03762
        Carion et al. 2020, appendix A.4. https://arxiv.org/abs/2005.12872
    """

    def __init__(
        self,
        units: int | None = None,
        *,
        merge: str = "add",
        base: float = 10000.0,
        grid_width: int | None = None,
        interleaved: bool = True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        merging.check(merge, units)
        argument_checks.above(base, "base", 1)
        if grid_width is not None:
            argument_checks.integer(grid_width, "grid_width", at_least=1)
        self.units = units
        self.merge = merge
        self.base = base
        self.grid_width = grid_width
        self.interleaved = interleaved
        self.supports_masking = True

    def build(self, input_shape):
        units = merging.width(self.units, input_shape[-1], self.merge)
        if self.grid_width is not None and units % 2:
            raise ValueError(
                "On a grid a position's vector must be of even length, half "
                f"of it for the row. Received: units={units}"
            )

    def call(self, inputs, positions=None):
        if positions is None:
            positions = masks.from_start(inputs)
        units = self.units or inputs.shape[-1]
        if self.grid_width is None:
            encoding = self._encode(positions, units)
        else:
            encoding = self._on_grid(positions, units)
        return merging.merge_positions(inputs, encoding, self.merge)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "merge": self.merge,
            "base": self.base,
            "grid_width": self.grid_width,
            "interleaved": self.interleaved,
        }

    def _encode(self, positions, units):
        return sinusoidal_encoding(
            positions, units, self.base, interleaved=self.interleaved
        )

    def _on_grid(self, positions, units):
        """Row and column, each in half of the vector."""
        rows, columns = (
            positions // self.grid_width,
            positions % self.grid_width,
        )
        halves = [
            self._encode(coordinate, units // 2)
            for coordinate in (rows, columns)
        ]
        return ops.concatenate(halves, axis=-1)
