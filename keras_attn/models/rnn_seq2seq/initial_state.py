"""From where an encoder ended to where a decoder starts."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer

KINDS = ("final", "backward")


@keras.saving.register_keras_serializable(package="keras_attn")
class InitialState(Layer):
    """Makes the first states of a decoder of an encoder's last ones.

        s(0) = h                        "final", read in one direction
               tanh(W_s [→h; ←h])       "final", read in both
               tanh(W_s ←h)             "backward"

    for each state of each layer, with a W_s of its own.

    Args:
        kind: "final" or "backward".
        units: Width of the states.
        states_of_layer: How many states a layer has: 2 for an LSTM.
        bidirectional: Whether there is a ←h.
        use_bias: Whether W_s has a bias.

    Call arguments:
        final: List of (batch, units): of each layer the states of →h, then
            those of ←h.

    Returns:
        List of (batch, units), those of each layer.

    Reference:
        Bahdanau et al. 2015, appendix A.2.2. https://arxiv.org/abs/1409.0473
    """

    def __init__(
        self,
        kind: str,
        units: int,
        *,
        states_of_layer: int = 1,
        bidirectional: bool = False,
        use_bias: bool = True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        argument_checks.choice(kind, "initial_state", KINDS)
        if kind == "backward" and not bidirectional:
            raise ValueError(
                '`initial_state="backward"` starts from an encoder that reads '
                "backwards too. Received: bidirectional=False. Make it True, "
                'or use `initial_state="final"`.'
            )
        self.kind = kind
        self.units = units
        self.states_of_layer = states_of_layer
        self.bidirectional = bidirectional
        self.use_bias = use_bias
        self.dense_layers = []

    def build(self, final_shape):
        if not self.bidirectional:
            return
        width = self.units * (2 if self.kind == "final" else 1)
        for number in range(len(final_shape) // 2):
            dense = keras.layers.Dense(
                self.units,
                "tanh",
                use_bias=self.use_bias,
                name=f"state_{number}",
                dtype=self.dtype_policy,
            )
            dense.build((None, width))
            self.dense_layers.append(dense)

    def call(self, final):
        if not self.bidirectional:
            return list(final)
        both = [
            pair
            for layer in self.by_direction(final)
            for pair in zip(*layer, strict=True)
        ]
        if self.kind == "backward":
            both = [(backward,) for _, backward in both]
        return [
            dense(ops.concatenate(pair, axis=-1))
            for dense, pair in zip(self.dense_layers, both, strict=True)
        ]

    def by_direction(self, final) -> list:
        """Part the states by layer, and those of a layer by direction."""
        states = _in_groups(final, self.states_of_layer)
        return _in_groups(states, 1 + self.bidirectional)

    def last_hidden(self, final):
        """The last hidden state of the last layer, of all directions."""
        directions = self.by_direction(final)[-1]
        return ops.concatenate([own[0] for own in directions], axis=-1)

    def get_config(self):
        return {
            **super().get_config(),
            "kind": self.kind,
            "units": self.units,
            "states_of_layer": self.states_of_layer,
            "bidirectional": self.bidirectional,
            "use_bias": self.use_bias,
        }


def _in_groups(items, size):
    return [list(items[i : i + size]) for i in range(0, len(items), size)]
