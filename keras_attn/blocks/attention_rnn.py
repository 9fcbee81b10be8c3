"""A decoder: an attending cell over a sequence."""

import keras
from keras import ops

from keras_attn.base.layer import Layer
from keras_attn.blocks import cells
from keras_attn.blocks.attention_cell import AttentionCell
from keras_attn.blocks.fresh_config import restored
from keras_attn.blocks.fresh_config import unshared
from keras_attn.ops import masks
from keras_attn.ops.recurrence import recur


@keras.saving.register_keras_serializable(package="keras_attn")
class AttentionRNN(Layer):
    """Runs an `AttentionCell` over a sequence, with a memory to attend to.

        output(t), states(t) = cell(input(t), states(t - 1), memory)

    The memory is projected once. Padding, of the inputs or of the memory,
    changes nothing. `keras_attn.models` have decoders of it that search.

    Args:
        cell: An `AttentionCell`.
        return_sequences: Whether to return the outputs of all steps, and not
            the last one's alone.
        return_state: Whether to return the last states as well.

    Call arguments:
        inputs: (batch, target, features).
        memory: (batch, key, memory_features).
        mask or inputs_mask, memory_mask: (batch, target) and (batch, key),
            False for padding; filled in by Keras.
        initial_state: The states of the wrapped cell, (batch, size) each, or
            all that a call returned; zeros if not given.
        return_attention_scores: Whether to return the weights as well.
        training: Whether anything is dropped.

    Returns:
        (batch, target, output), zeros at padding; or (batch, output), the one
        at the last real step. If asked for, then each of the states, and then
        the weights of all steps, (batch, target, key), or (batch, heads,
        target, key).

    Reference:
        Bahdanau et al. 2015, section 3. https://arxiv.org/abs/1409.0473
    """

    def __init__(
        self,
        cell,
        *,
        return_sequences: bool = False,
        return_state: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if not isinstance(cell, AttentionCell):
            raise ValueError(
                "`cell` must be an `AttentionCell`, which says what it attends "
                "with: AttentionCell(keras.layers.GRUCell(units), attention). "
                f"Received: {cell!r}"
            )
        self.cell = cell
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.supports_masking = True

    def build(self, inputs_shape, memory_shape):
        if len(inputs_shape) != 3:
            raise ValueError(
                "`inputs` must be (batch, target, features). Received: "
                f"inputs.shape={tuple(inputs_shape)}"
            )
        if not self.cell.built:
            self.cell.build((inputs_shape[0], inputs_shape[-1]), memory_shape)
            self.cell.built = True

    def call(
        self,
        inputs,
        memory,
        *,
        mask=None,
        inputs_mask=None,
        memory_mask=None,
        initial_state=None,
        return_attention_scores=False,
        training=None,
    ):
        # Keras fills in `mask` if a layer is called with one tensor only, and
        # `inputs_mask` if there are more.
        mask = inputs_mask if mask is None else mask
        outputs, states = self.run(
            inputs,
            self.cell.project_memory(memory, mask=memory_mask),
            initial_state,
            mask=mask,
            keep=("output", "weights")[: 1 + return_attention_scores],
            training=training,
        )
        output = outputs["output"]
        if not self.return_sequences:
            output = _last(output, mask)
        returned = [output, *(states if self.return_state else ())]
        if return_attention_scores:
            returned.append(ops.moveaxis(outputs["weights"], 1, -2))
        return tuple(returned) if len(returned) > 1 else output

    def run(
        self,
        inputs,
        memory: dict,
        states=None,
        *,
        mask=None,
        keep=("output",),
        training=None,
    ):
        """Go all steps with a memory that was projected.

        Args:
            inputs: (batch, target, features).
            memory: What the cell's `project_memory` returned.
            states: As `initial_state` of the call.
            mask: (batch, target), False for padding.
            keep: Which of what a step of the cell returns are wanted.
            training: Whether anything is dropped.

        Returns:
            Those, (batch, target, ...), zeros at padding, by name; and the
            list of last states.
        """
        mask = masks.as_boolean(mask)
        inputs = ops.cast(inputs, self.compute_dtype)
        inputs = masks.zero_padding(inputs, mask, "mask")
        positions = masks.from_start(inputs)
        if mask is not None:
            positions = ops.cumsum(ops.cast(mask, "int32"), axis=1) - 1

        def step(inputs, states):
            x, positions = inputs
            outputs, states = self.cell.step(
                x, states, memory, positions=positions, training=training
            )
            kept = {
                # The wrapped cell may have another policy.
                name: ops.cast(outputs[name], self.compute_dtype)
                for name in keep
            }
            return kept, states

        def project(inputs):
            x, positions = inputs
            x = cells.project_inputs(self.cell.cell, x, training)
            return x, positions

        cells.forget_dropout(self.cell.cell)
        outcome = recur(
            step,
            (inputs, positions),
            self.cell.as_states(states, memory),
            mask=mask,
            project=project,
        )
        cells.forget_dropout(self.cell.cell)
        return outcome

    def compute_mask(self, inputs, mask=None):
        """The outputs of all steps stand where the inputs do."""
        mask = mask[0] if isinstance(mask, (list, tuple)) else mask
        return mask if self.return_sequences else None

    def get_config(self):
        return {
            **super().get_config(),
            "cell": unshared(self.cell),
            "return_sequences": self.return_sequences,
            "return_state": self.return_state,
        }

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "cell": restored(config["cell"])})


def _last(outputs, mask):
    """Outputs (batch, time, features) at the last step that is no padding."""
    if mask is None:
        return outputs[:, -1]
    steps = masks.from_start(outputs)
    # Zeros are what a row of padding only has at its first step.
    last = ops.max(ops.where(masks.as_boolean(mask), steps, 0), axis=1)
    index = last[:, None, None]
    return ops.take_along_axis(outputs, index, axis=1)[:, 0]
