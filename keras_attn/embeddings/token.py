"""Tokens as vectors, and vectors as scores of tokens."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.ops.lookup import look_up


@keras.saving.register_keras_serializable(package="keras_attn")
class TokenEmbedding(Layer):
    """A vector for each token, which scores the tokens on the way out too.

        output(t) = √units · E[id(t)]        logits(t) = E x(t)    reversed

    With `reverse=True` the same matrix E turns the model's last vectors into
    logits, so input and output share their weights. The mask that goes on
    from here hides padding from everything downstream.

    Args:
        vocabulary_size: Number of ids.
        units: Length of a vector.
        scale: Whether vectors are multiplied by √units on the way in, which
            lets E be small enough for the way out.
        pad_id: The id that is padding; None if none is.
        embeddings_initializer: Of E; normal with a deviation of 1/√units if
            not given.

    Call arguments:
        inputs: (batch, length) ids; with `reverse` (batch, length, units).
        reverse: Whether to return logits.

    Returns:
        (batch, length, units), or (batch, length, vocabulary) logits.

    Reference:
        Vaswani et al. 2017, section 3.4. https://arxiv.org/abs/1706.03762
        Press and Wolf 2017. https://arxiv.org/abs/1608.05859
    """

    symbolic_dtype = "int32"

    def __init__(
        self,
        vocabulary_size: int,
        units: int,
        *,
        scale: bool = True,
        pad_id: int | None = 0,
        embeddings_initializer=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        vocabulary_size = argument_checks.integer(
            vocabulary_size, "vocabulary_size", at_least=1
        )
        units = argument_checks.integer(units, "units", at_least=1)
        if pad_id is not None and not 0 <= pad_id < vocabulary_size:
            raise ValueError(
                "`pad_id` must be None or an id of the vocabulary. Received: "
                f"pad_id={pad_id}, vocabulary_size={vocabulary_size}"
            )
        self.vocabulary_size = vocabulary_size
        self.units = units
        self.scale = scale
        self.pad_id = pad_id
        self.embeddings_initializer = keras.initializers.get(
            embeddings_initializer
        )

    def build(self, input_shape=None):
        normal = keras.initializers.RandomNormal(stddev=self.units**-0.5)
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.vocabulary_size, self.units),
            initializer=self.embeddings_initializer or normal,
        )

    def call(self, inputs, reverse=False):
        if reverse:
            return logits_of(inputs, self.embeddings)
        vectors = look_up(self.embeddings, inputs)
        return vectors * self.units**0.5 if self.scale else vectors

    def compute_mask(self, inputs, mask=None):
        """True where a token is not padding."""
        # Vectors on their way out keep the mask that they came with.
        if "float" in keras.backend.standardize_dtype(inputs.dtype):
            return mask
        return None if self.pad_id is None else inputs != self.pad_id

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "units": self.units,
            "scale": self.scale,
            "pad_id": self.pad_id,
            "embeddings_initializer": self.embeddings_initializer
            and serialize(self.embeddings_initializer),
        }


def logits_of(vectors, embeddings):
    """Score every token by its product with a vector.

    Args:
        vectors: (rows, units), or (batch, length, units).
        embeddings: (vocabulary, units).

    Returns:
        (rows, vocabulary), or (batch, length, vocabulary).
    """
    if len(vectors.shape) > 2:
        return ops.matmul(vectors, ops.transpose(embeddings))
    # The few rows of a step. On CPUs x Eᵀ is quicker than (E xᵀ)ᵀ for one row,
    # and several times slower for more. The maximum changes nothing: XLA would
    # make x Eᵀ of both if nothing stood between.
    columns, lowest = ops.transpose(vectors), vectors.dtype.min
    return ops.cond(
        ops.equal(ops.shape(vectors)[0], 1),
        lambda: ops.matmul(vectors, ops.transpose(embeddings)),
        lambda: ops.transpose(
            ops.maximum(ops.matmul(embeddings, columns), lowest)
        ),
    )
