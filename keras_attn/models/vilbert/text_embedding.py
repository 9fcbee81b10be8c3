"""Vectors of tokens with their positions and segments."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.blocks.residual import make_normalization
from keras_attn.embeddings.learned_position import LearnedPosition
from keras_attn.embeddings.token import TokenEmbedding
from keras_attn.ops import masks


@keras.saving.register_keras_serializable(package="keras_attn")
class TextEmbedding(Layer):
    """What the text's stream starts from, as in BERT.

        output(t) = dropout(norm(x(t) + P[t] + S[segment(t)]))

    Args:
        max_length: Positions that are learned.
        num_segments: How many texts can be told apart.
        epsilon: Added to the variance.
        dropout: Fraction dropped while training.
        initializer: Of P and S.

    Call arguments:
        inputs: (batch, length, features), vectors of tokens.
        segments: (batch, length) integers.
        inputs_mask: (batch, length) padding mask; filled in by Keras.
        training: Whether anything is dropped.

    Returns:
        (batch, length, features).

    Reference:
        Devlin et al. 2019, section 3. https://arxiv.org/abs/1810.04805
    """

    def __init__(
        self,
        max_length: int,
        *,
        num_segments: int = 2,
        epsilon: float = 1e-12,
        dropout: float = 0.0,
        initializer="uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.max_length = max_length
        self.num_segments = argument_checks.integer(
            num_segments, "num_segments", at_least=1
        )
        self.epsilon = epsilon
        self.dropout = dropout
        self.initializer = keras.initializers.get(initializer)
        own = {"dtype": self.dtype_policy}
        self.position_embedding = LearnedPosition(
            max_length, embeddings_initializer=self.initializer.clone(), **own
        )
        self.normalize = make_normalization("layer", epsilon, **own)
        self.drop = keras.layers.Dropout(dropout, **own)
        self.supports_masking = True

    def build(self, inputs_shape, segments_shape):
        self.segment_embedding = TokenEmbedding(
            self.num_segments,
            inputs_shape[-1],
            scale=False,
            pad_id=None,
            embeddings_initializer=self.initializer.clone(),
            name="segment_embedding",
            dtype=self.dtype_policy,
        )
        self.segment_embedding.build(segments_shape)
        self.position_embedding.build(inputs_shape)
        self.normalize.build(inputs_shape)

    def call(self, inputs, segments, *, inputs_mask=None, training=None):
        inputs = masks.zero_padding(inputs, inputs_mask, "inputs_mask")
        # Keras infers shapes with floats.
        segments = ops.cast(segments, "int32")
        x = self.position_embedding(inputs) + self.segment_embedding(segments)
        return self.drop(self.normalize(x), training=training)

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "max_length": self.max_length,
            "num_segments": self.num_segments,
            "epsilon": self.epsilon,
            "dropout": self.dropout,
            "initializer": serialize(self.initializer),
        }
