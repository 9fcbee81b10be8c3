"""An RNN cell that attends to a memory."""

import keras
from keras import ops

from keras_attn.attention import checks
from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.blocks import cells
from keras_attn.blocks.fresh_config import restored
from keras_attn.blocks.fresh_config import unshared

CONTEXTS = ("input", "readout", "layer", "attentional")


@keras.saving.register_keras_serializable(package="keras_attn")
class AttentionCell(Layer):
    """Any RNN cell with any attention: one step of a decoder.

        c(t) = attend(s(t-1)), s(t) = cell([x(t); c(t)])          "input"
        s(t) = cell(x(t)), output(t) = [s(t); attend(s(t))]       "readout"
        s₁(t) = cell₁(x(t)), s₂(t) = cell₂([s₁(t); attend(s₁(t))])  "layer"
        s(t) = cell([x(t); h̃(t-1)]), c(t) = attend(s(t)),
        h̃(t) = tanh(W_c [c(t); s(t)])                         "attentional"

    where s is the hidden state, of a stack the last one's; the output is s(t)
    or h̃(t) unless said, and h̃(0) = 0. With `gate`, c(t) is multiplied by the
    number σ(w · query + b). `AttentionRNN` runs it over sequences.

    Args:
        cell: A Keras RNN cell, or `StackedRNNCells`, which "layer" needs.
        attention: One of our attention layers.
        context: How the context is used, as above.
        gate: Whether the context is gated.
        state_dropout: Fraction of the wrapped cell's states dropped before
            each step while training, others at every step: a decoder that
            cannot trust its state looks at the memory again.

    Call arguments:
        inputs: (batch, features), one step of them.
        memory: (batch, key, memory_features).
        states: List of (batch, size): the cell's states, then for
            "attentional" h̃, then for `LocationSensitiveAttention` where it
            looked, (batch, key, 2); what a sequence starts from if not given.
        memory_mask: (batch, key), False for padding.
        training: Whether anything is dropped.

    Returns:
        (batch, output), then each of the new states.

    Reference:
        Bahdanau et al. 2015, appendix A. https://arxiv.org/abs/1409.0473
        Luong et al. 2015, section 3. https://arxiv.org/abs/1508.04025
        Xu et al. 2015, section 4.2.1. https://arxiv.org/abs/1502.03044
    """

    def __init__(
        self,
        cell,
        attention,
        *,
        context: str = "input",
        gate: bool = False,
        state_dropout: float = 0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        argument_checks.rate(state_dropout, "state_dropout")
        cells.check_cell(cell)
        argument_checks.choice(context, "context", CONTEXTS)
        checks.attends_to_memory(attention)
        if context == "layer" and len(cells.layers_of(cell)) < 2:
            raise ValueError(
                '`context="layer"` hands the context to the next layer of a '
                f"stack. Received one cell: {cell!r}. Give "
                "`keras.layers.StackedRNNCells` of two or more, or use "
                'another `context`, such as "readout".'
            )
        self.cell = cell
        self.attention = attention
        self.context = context
        self.gate = gate
        self.state_dropout = state_dropout
        self.drop = keras.layers.Dropout(state_dropout, dtype=self.dtype_policy)
        # Whether the attention goes on from where it was.
        self._is_located = hasattr(attention, "next_location")
        self.gate_dense = self.attentional_dense = None
        if gate:
            self.gate_dense = keras.layers.Dense(
                1, "sigmoid", name="gate", dtype=self.dtype_policy
            )
        if context == "attentional":
            self.attentional_dense = keras.layers.Dense(
                cells.output_size(cell),
                "tanh",
                use_bias=False,
                name="attentional",
                dtype=self.dtype_policy,
            )

    def build(self, inputs_shape, memory_shape):
        checks.memory(memory_shape)
        first, *others = cells.layers_of(self.cell)
        asking = first if self.context == "layer" else self.cell
        query_shape = (None, 1, cells.output_size(asking))
        if not self.attention.built:
            self.attention.build(query_shape, memory_shape)
        spec = self.attention.compute_output_shape(query_shape, memory_shape)
        self.context_size = spec[-1]
        self.memory_features = memory_shape[-1]
        features = inputs_shape[-1]
        width = cells.output_size(self.cell)
        if self.context == "input":
            features += self.context_size
        elif self.context == "attentional":
            features += width
            self.attentional_dense.build((None, self.context_size + width))
        if self.context == "layer":
            # A stack would build each for what the one below puts out.
            _build(first, features)
            features = cells.output_size(first) + self.context_size
            for cell in others:
                _build(cell, features)
                features = cells.output_size(cell)
        _build(self.cell, features)
        if self.gate:
            self.gate_dense.build((None, query_shape[-1]))

    def call(
        self, inputs, memory, states=None, *, memory_mask=None, training=None
    ):
        memory = self.project_memory(memory, mask=memory_mask)
        if states is None:
            states = self.as_states(None, memory)
        cells.forget_dropout(self.cell)
        outputs, states = self.step(inputs, states, memory, training=training)
        cells.forget_dropout(self.cell)
        return (ops.cast(outputs["output"], self.compute_dtype), *states)

    def project_memory(self, memory, *, mask=None) -> dict:
        """Project a memory once, for `step`.

        Args:
            memory: (batch, key, memory_features).
            mask: (batch, key), False for padding, which may hold anything.

        Returns:
            What the attention layer's `project_memory` does.
        """
        checks.memory(memory.shape, self.memory_features)
        return self.attention.project_memory(memory, mask=mask)

    def step(self, inputs, states, memory, *, positions=None, training=None):
        """Go on by one step.

        Args:
            inputs: (batch, features), or a step of what
                `cells.project_inputs` made.
            states: List of tensors, as for the call.
            memory: What `project_memory` returned.
            positions: (batch or 1,), which step this is, for attention that
                knows positions; 0 if not given.
            training: Whether anything is dropped.

        Returns:
            By name the "output", the "query" that asked, (batch, size), the
            "context", (batch, context), and the "weights", (batch, key) or
            (batch, heads, key); and the new states.
        """
        advance = {
            "input": self._context_as_input,
            "readout": self._context_in_readout,
            "layer": self._context_to_next_layer,
            "attentional": self._attentional_vector,
        }[self.context]

        location = None
        if self._is_located:
            *states, location = states
        if self.state_dropout:
            number = len(cells.state_sizes(self.cell))
            dropped = [self.drop(x, training=training) for x in states[:number]]
            states = [*dropped, *states[number:]]

        def attend(query):
            return self._attend(query, memory, positions, location, training)

        def step_cell(cell, x, states, more=None):
            return cells.step_cell(cell, x, states, training, more=more)

        output, states, seen = advance(inputs, states, attend, step_cell)
        if self._is_located:
            location = self.attention.next_location(location, seen["weights"])
            states = [*states, location]
        return {"output": output, **seen}, states

    @property
    def output_size(self) -> int:
        """Width of the output, once built."""
        width = cells.output_size(self.cell)
        return width + (self.context_size if self.context == "readout" else 0)

    def as_states(self, given, memory: dict) -> list:
        """Take what a user gave as the states to start from.

        Args:
            given: The cell's states, a tensor or a nest of them; or all that
                a call returned; None for those that the cell starts from.
            memory: What `project_memory` returned.

        Returns:
            List of tensors, rows being the first axis of each.
        """
        rows = ops.shape(memory["key"])[0]
        further = []
        if self.context == "attentional":
            size = cells.output_size(self.cell)
            further.append(ops.zeros((rows, size), self.compute_dtype))
        if self._is_located:
            further.append(self.attention.start_location(memory))
        return cells.as_states(self.cell, given, rows, further)

    def get_config(self):
        return {
            **super().get_config(),
            "cell": unshared(self.cell),
            "attention": unshared(self.attention),
            "context": self.context,
            "gate": self.gate,
            "state_dropout": self.state_dropout,
        }

    @classmethod
    def from_config(cls, config):
        parts = {name: restored(config[name]) for name in ("cell", "attention")}
        return cls(**{**config, **parts})

    def _context_as_input(self, x, states, attend, step_cell):
        seen = attend(self._hidden(states))
        output, states = step_cell(self.cell, x, states, seen["context"])
        return output, states, seen

    def _context_in_readout(self, x, states, attend, step_cell):
        hidden, states = step_cell(self.cell, x, states)
        seen = attend(hidden)
        return _joined(hidden, seen["context"]), states, seen

    def _context_to_next_layer(self, x, states, attend, step_cell):
        first, *others = cells.layers_of(self.cell)
        own, *before = cells.states_by_layer(self.cell, states)
        hidden, after = step_cell(first, x, own)
        seen = attend(hidden)
        x = _joined(hidden, seen["context"])
        for cell, own in zip(others, before, strict=True):
            x, own = step_cell(cell, x, own)
            after = [*after, *own]
        return x, after, seen

    def _attentional_vector(self, x, states, attend, step_cell):
        *states, fed = states
        hidden, states = step_cell(self.cell, x, states, fed)
        seen = attend(hidden)
        output = self.attentional_dense(_joined(seen["context"], hidden))
        return output, [*states, output], seen

    def _hidden(self, states):
        """The hidden state, of a stack the last one's: by custom the first."""
        return cells.states_by_layer(self.cell, states)[-1][0]

    def _attend(self, query, memory, positions, location, training):
        # No slices of the vectors: the gradient of one is a copy.
        context, weights = self.attention.attend_memory(
            ops.expand_dims(query, 1),
            memory,
            query_positions=None if positions is None else positions[:, None],
            return_attention_scores=True,
            training=training,
            **({"location": location} if self._is_located else {}),
        )
        context = ops.reshape(context, (-1, self.context_size))
        if self.gate:
            context *= ops.cast(self.gate_dense(query), context.dtype)
        return {
            "query": query,
            "context": context,
            "weights": weights[..., 0, :],
        }


def _joined(*vectors):
    return ops.concatenate(vectors, axis=-1)


def _build(cell, features):
    if not cell.built:
        cell.build((None, features))
        cell.built = True
