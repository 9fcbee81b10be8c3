"""Positions as vectors that are learned."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.embeddings import merging
from keras_attn.ops import checks
from keras_attn.ops.lookup import first_rows
from keras_attn.ops.lookup import look_up
from keras_attn.ops.positions import resize_grid


@keras.saving.register_keras_serializable(package="keras_attn")
class LearnedPosition(Layer):
    """Learned positions: a table with a row for each.

        output(p) = inputs(p) + P[p],  or  [inputs(p), P[p]]

    A sequence that is longer than the table is an error; a function that XLA
    compiles cannot fail, and gives NaN past the table's end. For images, whose
    positions form a grid, `load_grid` takes the table of a smaller image.

    Args:
        max_length: Rows of the table.
        units: Length of a position's vector; that of the features if not given,
            which "add" needs.
        merge: "add" or "concat".
        embeddings_initializer: Of the table.

    Call arguments:
        inputs: (batch, length, features).
        positions: (batch or 1, length) integers; 0, 1, 2, … if not given.

    Returns:
        (batch, length, features), or (batch, length, features + units).

    Reference:
        Gehring et al. 2017, section 3.1. https://arxiv.org/abs/1705.03122
        Dosovitskiy et al. 2021, section 3.2. https://arxiv.org/abs/2010.11929
    """

    def __init__(
        self,
        max_length: int,
        units: int | None = None,
        *,
        merge: str = "add",
        embeddings_initializer="uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        merging.check(merge, units)
        self.max_length = argument_checks.integer(
            max_length, "max_length", at_least=1
        )
        self.units = units
        self.merge = merge
        self.embeddings_initializer = keras.initializers.get(
            embeddings_initializer
        )
        self.supports_masking = True

    def build(self, input_shape):
        units = merging.width(self.units, input_shape[-1], self.merge)
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.max_length, units),
            initializer=self.embeddings_initializer,
        )

    def call(self, inputs, positions=None):
        if positions is None:
            length = checks.at_most(
                ops.shape(inputs)[1], self.max_length, self._too_long()
            )
            encoding = first_rows(self.embeddings, length)[None]
        else:
            positions = checks.at_most(
                positions, self.max_length - 1, self._too_long()
            )
            encoding = look_up(self.embeddings, positions, past_end_is_nan=True)
        return merging.merge_positions(inputs, encoding, self.merge)

    def load_grid(
        self,
        table,
        old_grid: tuple,
        new_grid: tuple,
        *,
        num_prefix_tokens: int = 0,
    ):
        """Take the table of another grid of patches, stretched to this one.

        Args:
            table: (first + height · width, units) array.
            old_grid: (height, width) of the table's grid.
            new_grid: (height, width) of this layer's grid.
            num_prefix_tokens: Rows before the grid, such as a class token's,
                which are taken as they are.
        """
        if not self.built:
            raise ValueError(
                "`load_grid` needs the layer's own table: build the layer, or "
                "call it, first."
            )
        stretched = resize_grid(table, old_grid, new_grid, num_prefix_tokens)
        if stretched.shape != self.embeddings.shape:
            raise ValueError(
                "The new grid must have a row for each of the layer's "
                f"positions, {tuple(self.embeddings.shape)} in all. Received: "
                f"{tuple(stretched.shape)} from new_grid={tuple(new_grid)}, "
                f"num_prefix_tokens={num_prefix_tokens}"
            )
        self.embeddings.assign(stretched)

    def get_config(self):
        return {
            **super().get_config(),
            "max_length": self.max_length,
            "units": self.units,
            "merge": self.merge,
            "embeddings_initializer": keras.saving.serialize_keras_object(
                self.embeddings_initializer
            ),
        }

    def _too_long(self):
        return (
            f"This layer has learned {self.max_length} positions, and the "
            "sequence is longer. Make the layer with a greater `max_length`, "
            "or shorten the sequence."
        )
