"""Learned tokens before a sequence, which gather what it says."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer


@keras.saving.register_keras_serializable(package="keras_attn")
class ClassToken(Layer):
    """Puts learned vectors before every sequence.

        output = [c_1, …, c_n, x(1), …, x(length)]

    The blocks that follow let them attend to the rest, and a head reads them:
    one for the class, a second for what a teacher says (DeiT), or some that
    nobody reads (registers). A mask of the inputs goes on, with the new
    tokens to be seen.

    Args:
        num_tokens: How many.
        embeddings_initializer: Of the vectors; normal with a deviation of
            0.02 if not given.

    Call arguments:
        inputs: (batch, length, features).

    Returns:
        (batch, num_tokens + length, features).

    Reference:
        Dosovitskiy et al. 2021, section 3.1. https://arxiv.org/abs/2010.11929
        Touvron et al. 2021, section 4. https://arxiv.org/abs/2012.12877
    """

    def __init__(
        self, num_tokens: int = 1, *, embeddings_initializer=None, **kwargs
    ):
        super().__init__(**kwargs)
        self.num_tokens = argument_checks.integer(
            num_tokens, "num_tokens", at_least=1
        )
        self.embeddings_initializer = keras.initializers.get(
            embeddings_initializer
        )
        self.supports_masking = True

    def build(self, input_shape):
        normal = keras.initializers.RandomNormal(stddev=0.02)
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.num_tokens, input_shape[-1]),
            initializer=self.embeddings_initializer or normal,
        )

    def call(self, inputs):
        tokens = ops.cast(self.embeddings, inputs.dtype)
        shape = (ops.shape(inputs)[0], *self.embeddings.shape)
        tokens = ops.broadcast_to(tokens, shape)
        return ops.concatenate([tokens, inputs], axis=1)

    def compute_mask(self, inputs, previous_mask=None):
        if previous_mask is None:
            return None
        mask = ops.cast(previous_mask, "bool")
        seen = ops.ones((ops.shape(mask)[0], self.num_tokens), "bool")
        return ops.concatenate([seen, mask], axis=1)

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "num_tokens": self.num_tokens,
            "embeddings_initializer": self.embeddings_initializer
            and serialize(self.embeddings_initializer),
        }
