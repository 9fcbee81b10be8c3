"""A cell over a sequence, which can also be stepped."""

import keras
from keras import ops

from keras_attn.base.layer import Layer
from keras_attn.blocks import cells
from keras_attn.blocks.fresh_config import restored
from keras_attn.blocks.fresh_config import unshared
from keras_attn.ops import masks
from keras_attn.ops.recurrence import recur


@keras.saving.register_keras_serializable(package="keras_attn")
class Recurrent(Layer):
    """Reads or writes a sequence with a cell.

        output(t), states(t) = cell(input(t), states(t - 1))

    Padding, wherever it stands, leaves the states alone. Models that go token
    by token call `step` and get the same.

    Args:
        cell: Any Keras RNN cell, or a stack of them.
        go_backwards: Whether to begin with the last step. Outputs stand where
            their inputs do.

    Call arguments:
        inputs: (batch, time, features).
        mask: (batch, time) padding mask; filled in by Keras.
        initial_state: The cell's states, (batch, size) each; zeros if not
            given.
        training: Whether anything is dropped.

    Returns:
        A list: (batch, time, output), zeros at padding, then each of the last
        states.
    """

    def __init__(self, cell, *, go_backwards: bool = False, **kwargs):
        super().__init__(**kwargs)
        cells.check_cell(cell)
        self.cell = cell
        self.go_backwards = go_backwards
        self.supports_masking = True

    def build(self, input_shape):
        if not self.cell.built:
            self.cell.build((input_shape[0], input_shape[-1]))

    def call(self, inputs, *, mask=None, initial_state=None, training=None):
        mask = masks.as_boolean(mask)
        inputs = masks.zero_padding(inputs, mask, "mask")
        rows = ops.shape(inputs)[0]
        cells.forget_dropout(self.cell)
        outputs, states = recur(
            lambda x, states: cells.step_cell(self.cell, x, states, training),
            inputs,
            cells.as_states(self.cell, initial_state, rows),
            mask=mask,
            go_backwards=self.go_backwards,
            project=lambda x: cells.project_inputs(self.cell, x, training),
        )
        cells.forget_dropout(self.cell)
        return [ops.cast(outputs, self.compute_dtype), *states]

    def step(self, inputs, states):
        """Go on by one step.

        Args:
            inputs: (rows, features).
            states: List of (rows, size) tensors, such as the last call or
                `step` returned.

        Returns:
            (rows, output), and the list of states.
        """
        return cells.step_cell(self.cell, inputs, states)

    def compute_mask(self, inputs, mask=None):
        """The outputs stand where the inputs do."""
        return mask

    def get_config(self):
        return {
            **super().get_config(),
            "cell": unshared(self.cell),
            "go_backwards": self.go_backwards,
        }

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "cell": restored(config["cell"])})
