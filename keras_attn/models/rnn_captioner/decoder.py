"""The recurrent decoder that looks at an image while it writes."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.blocks import cells
from keras_attn.blocks.attention_cell import AttentionCell
from keras_attn.blocks.fresh_config import restored
from keras_attn.blocks.fresh_config import unshared
from keras_attn.ops import masks
from keras_attn.ops.recurrence import recur

CONTEXTS = ("input", "state")


@keras.saving.register_keras_serializable(package="keras_attn")
class CaptionDecoder(Layer):
    """Scores the word that follows each word, given the cells of an image.

        h(0) = tanh(W_h ā + b_h), c(0) = tanh(W_c ā + b_c)      ā = mean of a
        z(t) = β(t) Σ α(t, i) a(i)         β(t) = σ(w_β · h(t - 1) + b_β)
        h(t), c(t) = cell([x(t); z(t)], h(t - 1), c(t - 1))
        logits(t)  = L_o dropout(x(t) + L_h h(t) + L_z z(t)) + b_o

    where α(t) are the weights with which h(t - 1) attends to the cells a(i).
    Without attention z(t) = ā, or there is no z.

    Args:
        vocabulary_size, units: Sizes of the logits and of h.
        cell: "lstm", "gru" or "simple".
        attention: An attention layer, or None.
        context: "input", or "state" for no z.
        gate: Whether there is a β.
        dropout: Fraction dropped before the logits while training.
        state_dropout: With attention, see `AttentionCell`: what can be looked
            up again need not be remembered.
        doubly_stochastic: λ of a loss λ Σ (1 - Σ α(t, i))², the inner sum over
            the words, the outer over cells and images, divided by the number
            of words, as a cross-entropy is.

    Call arguments:
        inputs: (batch, target, features), words as vectors x.
        memory: (batch, key, memory_features), the cells a.
        mask or inputs_mask: (batch, target), False for padding.
        training: Whether anything is dropped.

    Returns:
        (batch, target, vocabulary) logits.

    Reference:
        Xu et al. 2015, section 3.1 and 4.2.1. https://arxiv.org/abs/1502.03044
    """

    def __init__(
        self,
        vocabulary_size: int,
        units: int,
        *,
        cell: str = "lstm",
        attention=None,
        context: str = "input",
        gate: bool = True,
        dropout: float = 0.0,
        state_dropout: float = 0.0,
        doubly_stochastic: float = 0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        argument_checks.choice(context, "context", CONTEXTS)
        argument_checks.rate(dropout)
        if attention is not None and context != "input":
            raise ValueError(
                "What is attended to changes from word to word, so it enters "
                'every step: context="input". Received: context='
                f"{context!r} with attention={attention!r}"
            )
        cells.check_state_dropout(state_dropout, attention)
        if doubly_stochastic < 0:
            raise ValueError(
                "`doubly_stochastic` weighs a loss: it is 0 or more. Received: "
                f"doubly_stochastic={doubly_stochastic}"
            )
        self.vocabulary_size = vocabulary_size
        self.units = units
        self.cell = cell
        self.attention = attention
        self.context = context
        self.gate = gate
        self.dropout = dropout
        self.state_dropout = state_dropout
        self.doubly_stochastic = doubly_stochastic
        self.supports_masking = True

        own = {"dtype": self.dtype_policy}
        self.recurrent_cell = cells.make_cell(cell, units, **own)
        self.attending_cell = None
        if attention is not None:
            self.attending_cell = AttentionCell(
                self.recurrent_cell,
                attention,
                gate=gate,
                state_dropout=state_dropout,
                **own,
            )
        self.first_states = [
            keras.layers.Dense(size, "tanh", name=f"first_{name}", **own)
            for name, size in zip(
                "hc", cells.state_sizes(self.recurrent_cell), strict=False
            )
        ]
        self.drop = keras.layers.Dropout(dropout, **own)
        self.logits = keras.layers.Dense(vocabulary_size, name="logits", **own)

    def build(self, inputs_shape, memory_shape):
        features, seen = inputs_shape[-1], memory_shape[-1]
        for dense in self.first_states:
            dense.build((None, seen))
        if self.attending_cell is not None:
            self.attending_cell.build((None, features), memory_shape)
            seen = self.attending_cell.context_size
        else:
            wider = seen if self.context == "input" else 0
            self.recurrent_cell.build((None, features + wider))
        own = {"use_bias": False, "dtype": self.dtype_policy}
        self.of_state = keras.layers.Dense(features, name="of_state", **own)
        self.of_state.build((None, self.units))
        self.of_context = None
        if self.context == "input":
            self.of_context = keras.layers.Dense(
                features, name="of_context", **own
            )
            self.of_context.build((None, seen))
        self.logits.build((None, features))

    def call(
        self, inputs, memory, *, mask=None, inputs_mask=None, training=None
    ):
        mask = masks.as_boolean(inputs_mask if mask is None else mask)
        inputs = masks.zero_padding(inputs, mask, "mask")
        outputs = self.run(
            inputs, *self.begin(memory), mask=mask, training=training
        )
        if self.attention is not None and self.doubly_stochastic:
            self.add_loss(self._uneven(outputs["weights"], mask))
        return self.readout(inputs, outputs, training=training)

    def compute_output_spec(self, inputs, memory, **options):
        """Describe what `call` returns, without tracing the loop."""
        shape = (*inputs.shape[:2], self.vocabulary_size)
        return keras.KerasTensor(shape, self.compute_dtype)

    def begin(self, memory):
        """Make of the cells of an image the first states, and a memory.

        Args:
            memory: (batch, key, memory_features).

        Returns:
            List of (batch, units) states, and what `step` is to be given.
        """
        memory = ops.cast(memory, self.compute_dtype)
        mean = ops.mean(memory, axis=1)
        states = [dense(mean) for dense in self.first_states]
        if self.attending_cell is not None:
            memory = self.attending_cell.project_memory(memory)
            return self.attending_cell.as_states(states, memory), memory
        states = cells.as_states(self.recurrent_cell, states, None)
        return states, {"context": mean} if self.context == "input" else {}

    def step(self, inputs, states, memory, training=None):
        """Go on by one word.

        Args:
            inputs: (batch, features), or a step of what
                `cells.project_inputs` made.
            states, memory: What `begin` returned, or the last step's states.

        Returns:
            By name "output", (batch, units), and if there are such "context"
            and "weights", (batch, features) and (batch, key); and the states.
        """
        if self.attending_cell is not None:
            return self.attending_cell.step(
                inputs, states, memory, training=training
            )
        output, states = cells.step_cell(
            self.recurrent_cell,
            inputs,
            states,
            training,
            more=memory.get("context"),
        )
        return {"output": output, **memory}, states

    def run(self, inputs, states, memory, *, mask=None, training=None):
        """All steps at once: (batch, target, ...) of what `step` returns."""

        def step(x, states):
            return self.step(x, states, memory, training)

        def project(x):
            return cells.project_inputs(self.recurrent_cell, x, training)

        return recur(step, inputs, states, mask=mask, project=project)[0]

    def readout(self, inputs, outputs, training=None):
        """Logits of words, (..., features), and what their steps returned."""
        x = ops.cast(inputs, self.compute_dtype)
        x += self.of_state(outputs["output"])
        if self.of_context is not None:
            x += self.of_context(outputs["context"])
        return self.logits(self.drop(x, training=training))

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "units": self.units,
            "cell": self.cell,
            "attention": unshared(self.attention),
            "context": self.context,
            "gate": self.gate,
            "dropout": self.dropout,
            "state_dropout": self.state_dropout,
            "doubly_stochastic": self.doubly_stochastic,
        }

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "attention": restored(config["attention"])})

    def _uneven(self, weights, mask):
        """How far from even the cells were attended to over a caption."""
        weights = ops.cast(weights, "float32")  # 0 at padding
        total = ops.sum(weights, axis=1)  # (batch, key)
        if mask is None:
            mask = ops.ones_like(weights[..., 0], "bool")
        words = ops.maximum(ops.sum(ops.cast(mask, "float32")), 1.0)
        return self.doubly_stochastic * ops.sum((1 - total) ** 2) / words
