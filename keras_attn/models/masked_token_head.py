"""Scores of the token that stood where a mask is now."""

import keras
from keras import ops

from keras_attn.blocks import activations


class MaskedTokenHead(keras.layers.Layer):
    """The head of masked language modelling.

        logits = E norm(activation(W x + b)) + c

    where E is the matrix of the model's own embedding.

    Args:
        embedding: The `TokenEmbedding` whose matrix scores the tokens.
        activation: The nonlinearity.
        epsilon: Added to the variance.

    Call arguments:
        inputs: (batch, length, features).

    Returns:
        (batch, length, vocabulary) logits.

    Reference:
        Devlin et al. 2019, section 3.1. https://arxiv.org/abs/1810.04805
    """

    def __init__(self, embedding, *, activation, epsilon: float, **kwargs):
        super().__init__(**kwargs)
        own = {"dtype": self.dtype_policy}
        self.embedding = embedding
        self.dense = keras.layers.Dense(
            embedding.units, activation=activations.get(activation), **own
        )
        self.normalize = keras.layers.LayerNormalization(epsilon=epsilon, **own)
        self.supports_masking = True

    def build(self, input_shape):
        self.dense.build(input_shape)
        self.normalize.build(input_shape)
        self.bias = self.add_weight(
            name="bias",
            shape=(self.embedding.vocabulary_size,),
            initializer="zeros",
        )

    def call(self, inputs):
        x = self.normalize(self.dense(inputs))
        logits = self.embedding(x, reverse=True)
        return logits + ops.cast(self.bias, logits.dtype)
