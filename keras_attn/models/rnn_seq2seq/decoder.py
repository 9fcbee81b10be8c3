"""The half that writes a target."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.blocks import cells
from keras_attn.blocks.attention_cell import AttentionCell
from keras_attn.blocks.attention_rnn import AttentionRNN
from keras_attn.blocks.fresh_config import restored
from keras_attn.blocks.fresh_config import unshared
from keras_attn.blocks.recurrent import Recurrent
from keras_attn.models.rnn_seq2seq.initial_state import InitialState
from keras_attn.ops import masks

READOUTS = (None, "maxout")


@keras.saving.register_keras_serializable(package="keras_attn")
class RecurrentDecoder(Layer):
    """Writes with a cell, from the last states of an encoder.

        s(t) = cell(x(t), s(t - 1))          without attention
               cell([x(t); c], s(t - 1))     with `constant_context`, c = h
        t(t) = maxout(U_o s(t - 1) + V_o x(t) + C_o c(t))    "maxout"

    `InitialState` says what s(0) is, and `AttentionCell` what s(t) is with
    attention. Of 2 · `readout_units` numbers, maxout takes the greater of each
    pair.

    Args:
        cell, units, num_layers, use_bias, dropout: As for the encoder, which
            has as many layers.
        bidirectional: Whether the encoder reads in both directions.
        attention: An attention layer, or None.
        context, state_dropout: As for `AttentionCell`.
        constant_context: Whether every step is fed the encoder's last state.
        initial_state: "final" or "backward".
        readout, readout_units: None or "maxout", and its width.

    Call arguments:
        inputs: (batch, target, features).
        memory: (batch, source, memory_features).
        final: What the encoder returned after the memory.
        mask or inputs_mask, memory_mask: (batch, target) and (batch, source)
            padding masks; filled in by Keras.
        training: Whether anything is dropped.

    Returns:
        (batch, target, width), of which logits are made.
    """

    def __init__(
        self,
        cell: str,
        units: int,
        *,
        num_layers: int = 1,
        bidirectional: bool = False,
        attention=None,
        context: str = "input",
        constant_context: bool = False,
        initial_state: str = "final",
        readout: str | None = None,
        readout_units: int | None = None,
        use_bias: bool = True,
        dropout: float = 0.0,
        state_dropout: float = 0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        argument_checks.choice(readout, "readout", READOUTS)
        _check_maxout(readout, attention, context)
        cells.check_state_dropout(state_dropout, attention)
        own = {"dtype": self.dtype_policy}
        self.cell = cell
        self.units = units
        self.num_layers = num_layers
        self.bidirectional = bidirectional
        self.attention = attention
        self.context = context
        self.constant_context = constant_context
        self.initial_state = initial_state
        self.readout = readout
        self.readout_units = readout_units
        self.use_bias = use_bias
        self.dropout = dropout
        self.state_dropout = state_dropout
        self.supports_masking = True
        stack = cells.make_cell(
            cell, units, num_layers, use_bias=use_bias, dropout=dropout, **own
        )
        if attention is None:
            self.rnn = Recurrent(stack, **own)
        else:
            attending = AttentionCell(
                stack,
                attention,
                context=context,
                state_dropout=state_dropout,
                **own,
            )
            self.rnn = AttentionRNN(attending, return_sequences=True, **own)
        self.start_states = InitialState(
            initial_state,
            units,
            states_of_layer=len(cells.state_sizes(stack)) // num_layers,
            bidirectional=bidirectional,
            use_bias=use_bias,
            name="initial_state",
            **own,
        )
        self.maxout_dense = None
        if readout == "maxout":
            self.maxout_dense = keras.layers.Dense(
                2 * (readout_units or units),
                use_bias=use_bias,
                name="maxout",
                **own,
            )
        self.drop = keras.layers.Dropout(dropout, **own)

    def build(self, inputs_shape, memory_shape, final_shape):
        self.start_states.build(final_shape)
        batch, target, features = inputs_shape
        width = features
        if self.constant_context:
            width += self.units * (1 + self.bidirectional)
        shape = (batch, target, width)
        if self.attention is None:
            self.rnn.build(shape)
        else:
            self.rnn.build(shape, memory_shape)
        if self.maxout_dense is not None:
            width += self.units + self.rnn.cell.context_size
            self.maxout_dense.build((batch, target, width))

    def call(
        self,
        inputs,
        memory,
        final,
        *,
        mask=None,
        inputs_mask=None,
        memory_mask=None,
        training=None,
    ):
        mask = inputs_mask if mask is None else mask
        states, constant = self.start(memory, final, mask=memory_mask)
        inputs = masks.zero_padding(inputs, mask, "mask")
        x = self._fed(inputs, constant)
        if self.attention is None:
            vectors, *_ = self.rnn(
                x, mask=mask, initial_state=states, training=training
            )
        else:
            keep = ("output",)
            if self.maxout_dense is not None:
                keep = ("query", "context")
            outputs, _ = self.rnn.run(
                x,
                constant["memory"],
                states,
                mask=mask,
                keep=keep,
                training=training,
            )
            vectors = self._read_out(x, outputs)
        return self.drop(vectors, training=training)

    @property
    def num_final_states(self) -> int:
        """How many last states of an encoder it starts from."""
        per_layer = self.start_states.states_of_layer
        return per_layer * self.num_layers * (1 + self.bidirectional)

    def start(self, memory, final, *, mask=None):
        """Make what the first step goes on from.

        Args:
            memory: (rows, source, memory_features).
            final: What the encoder returned after it.
            mask: (rows, source), False for padding.

        Returns:
            The list of states, and a dictionary of what no step changes.
        """
        constant = {}
        if self.attention is not None:
            constant["memory"] = self.rnn.cell.project_memory(memory, mask=mask)
        if self.constant_context:
            constant["context"] = self.start_states.last_hidden(final)
        states = self.start_states(list(final))
        if self.attention is not None:
            states = self.rnn.cell.as_states(states, constant["memory"])
        return states, constant

    def step(self, inputs, states, constant, positions):
        """Go on by one token.

        Args:
            inputs: (rows, features).
            states, constant: As of `start`; the states as of the last `step`.
            positions: (rows,), how many steps came before.

        Returns:
            (rows, width), and the states.
        """
        x = self._fed(inputs, constant)
        if self.attention is None:
            return self.rnn.step(x, states)
        outputs, states = self.rnn.cell.step(
            x, states, constant["memory"], positions=positions
        )
        return self._read_out(x, outputs), states

    def alignment(self, inputs, constant, states):
        """Weights of all steps, (batch, target, ..., source)."""
        outputs, _ = self.rnn.run(
            self._fed(inputs, constant),
            constant["memory"],
            states,
            keep=("weights",),
        )
        return outputs["weights"]

    def get_config(self):
        return {
            **super().get_config(),
            "cell": self.cell,
            "units": self.units,
            "num_layers": self.num_layers,
            "bidirectional": self.bidirectional,
            "attention": self.attention and unshared(self.attention),
            "context": self.context,
            "constant_context": self.constant_context,
            "initial_state": self.initial_state,
            "readout": self.readout,
            "readout_units": self.readout_units,
            "use_bias": self.use_bias,
            "dropout": self.dropout,
            "state_dropout": self.state_dropout,
        }

    @classmethod
    def from_config(cls, config):
        attention = config["attention"]
        attention = None if attention is None else restored(attention)
        return cls(**{**config, "attention": attention})

    def _fed(self, inputs, constant):
        """The inputs of one or all steps, with the constant context."""
        if not self.constant_context:
            return inputs
        context = ops.cast(constant["context"], inputs.dtype)
        if len(inputs.shape) == 3:
            length = ops.shape(inputs)[1]
            context = ops.repeat(context[:, None], length, axis=1)
        return _joined([inputs, context])

    def _read_out(self, x, outputs):
        """The vectors of one or all steps, of which logits are made."""
        if self.maxout_dense is None:
            return outputs["output"]
        both = self.maxout_dense(
            _joined([outputs["query"], x, outputs["context"]])
        )
        units = both.shape[-1] // 2
        pairs = ops.reshape(both, (*ops.shape(both)[:-1], units, 2))
        return ops.max(pairs, axis=-1)


def _joined(vectors):
    return ops.concatenate(list(vectors), axis=-1)


def _check_maxout(readout, attention, context):
    if readout == "maxout" and (attention is None or context != "input"):
        raise ValueError(
            "The maxout reads the context that entered with the input. "
            f"Received: attention={attention!r}, context={context!r}. Give an "
            '`attention` and `context="input"`, or use `readout=None`.'
        )
