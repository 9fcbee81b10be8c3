"""Tokens as vectors that nobody learns."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer


@keras.saving.register_keras_serializable(package="keras_attn")
class OneHot(Layer):
    """A vector of zeros for each token, with a one at its id.

        output(t)[i] = 1 if i = id(t) else 0

    The next layer's matrix then holds a row for each word. The mask that goes
    on from here hides padding, as that of `TokenEmbedding` does.

    Args:
        vocabulary_size: Number of ids.
        pad_id: The id that is padding; None if none is.

    Call arguments:
        inputs: (batch, length) ids, or (rows,).

    Returns:
        (batch, length, vocabulary), or (rows, vocabulary).

    Reference:
        Elman 1990, "Finding Structure in Time", section "Discovering Lexical
        Classes from Word Order". https://doi.org/10.1207/s15516709cog1402_1
    """

    symbolic_dtype = "int32"

    def __init__(
        self, vocabulary_size: int, *, pad_id: int | None = 0, **kwargs
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = argument_checks.integer(
            vocabulary_size, "vocabulary_size", at_least=1
        )
        self.pad_id = pad_id

    def call(self, inputs):
        return ops.one_hot(
            inputs, self.vocabulary_size, dtype=self.compute_dtype
        )

    def compute_mask(self, inputs, mask=None):
        """True where a token is not padding."""
        return None if self.pad_id is None else inputs != self.pad_id

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "pad_id": self.pad_id,
        }
