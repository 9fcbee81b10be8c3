"""The half that reads a source."""

import keras
from keras import ops

from keras_attn.base.layer import Layer
from keras_attn.blocks.cells import make_cell
from keras_attn.blocks.recurrent import Recurrent


@keras.saving.register_keras_serializable(package="keras_attn")
class RecurrentEncoder(Layer):
    """Reads a sequence in one direction, or in both.

        →h(t) = cell(x(t), →h(t - 1)),    ←h(t) = cell(x(t), ←h(t + 1))
        memory(t) = [→h(t); ←h(t)]

    in each layer, which reads the memory of the one below.

    Args:
        cell: "lstm", "gru" or "simple".
        units: Width of each direction.
        num_layers: Layers on each other.
        bidirectional: Whether there is a ←h.
        reverse: Whether the end of the source is read first. What is said of
            a position stands at that position all the same.
        use_bias, dropout: Of the cells; their inputs are dropped.

    Call arguments:
        inputs: (batch, source, features).
        mask: (batch, source) padding mask; filled in by Keras.
        training: Whether anything is dropped.

    Returns:
        A list: (batch, source, units or 2 · units), then the last states of
        each layer, first those of →h and then those of ←h.
    """

    def __init__(
        self,
        cell: str,
        units: int,
        *,
        num_layers: int = 1,
        bidirectional: bool = False,
        reverse: bool = False,
        use_bias: bool = True,
        dropout: float = 0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.cell = cell
        self.units = units
        self.num_layers = num_layers
        self.bidirectional = bidirectional
        self.reverse = reverse
        self.use_bias = use_bias
        self.dropout = dropout
        self.supports_masking = True
        directions = {"forward": reverse}
        if bidirectional:
            directions["backward"] = not reverse
        self.directions = [
            Recurrent(
                make_cell(
                    cell,
                    units,
                    use_bias=use_bias,
                    dropout=dropout,
                    dtype=self.dtype_policy,
                ),
                go_backwards=go_backwards,
                name=f"{name}_{layer}",
                dtype=self.dtype_policy,
            )
            for layer in range(num_layers)
            for name, go_backwards in directions.items()
        ]

    def build(self, input_shape):
        number = 1 + self.bidirectional
        features = input_shape[-1]
        for index, direction in enumerate(self.directions):
            if index and index % number == 0:
                features = number * self.units
            direction.build((*input_shape[:-1], features))

    def call(self, inputs, *, mask=None, training=None):
        number = 1 + self.bidirectional
        x, states = inputs, []
        for start in range(0, len(self.directions), number):
            read = [
                direction(x, mask=mask, training=training)
                for direction in self.directions[start : start + number]
            ]
            x = ops.concatenate([outputs for outputs, *_ in read], axis=-1)
            states += [state for _, *own in read for state in own]
        return [x, *states]

    def compute_mask(self, inputs, mask=None):
        """The memory has the padding of the source."""
        return mask

    def get_config(self):
        return {
            **super().get_config(),
            "cell": self.cell,
            "units": self.units,
            "num_layers": self.num_layers,
            "bidirectional": self.bidirectional,
            "reverse": self.reverse,
            "use_bias": self.use_bias,
            "dropout": self.dropout,
        }
