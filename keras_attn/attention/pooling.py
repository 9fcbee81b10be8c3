"""Attention pooling: a learned question to the whole sequence."""

import math

import keras
from keras import ops

from keras_attn.attention.one_head import one_head_average
from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.ops import masks


@keras.saving.register_keras_serializable(package="keras_attn")
class AttentionPooling(Layer):
    """A weighted mean over all positions, the weights by attention.

        u(h)   = tanh(W h + b)
        output = Σ softmax(u(h) · query) h        over the positions h

    What to look for is learned: `query` is a weight. With `num_queries` there
    are several and each makes its own mean. Use it in place of
    `GlobalAveragePooling`, on text or on images.

    Args:
        units: Width of u and of each query.
        num_queries: Number of queries; None for one, without an axis for it.
        dropout: Fraction of the weights dropped while training.

    Call arguments:
        inputs: (batch, length, features), or with more axes of positions, as
            (batch, height, width, features).
        mask: (batch, length), or as many axes as there are of positions;
            padding does not count.
        return_attention_scores: Whether to return the weights as well.

    Returns:
        (batch, features), then (batch, length) weights if asked for; or
        (batch, num_queries, features) and (batch, num_queries, length). A row
        of nothing but padding gives zeros.

    Reference:
        Yang et al. 2016, section 2.2, equations 5 to 7.
        https://aclanthology.org/N16-1174; with several queries, Lin et al.
        2017, section 2.1. https://arxiv.org/abs/1703.03130
    """

    def __init__(
        self,
        units: int,
        *,
        num_queries: int | None = None,
        dropout: float = 0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        units = argument_checks.integer(units, "units", at_least=1)
        if num_queries is not None:
            num_queries = argument_checks.integer(
                num_queries, "num_queries", at_least=1
            )
        argument_checks.rate(dropout)
        self.units = units
        self.num_queries = num_queries
        self.dropout = dropout

        self.hidden_dense = keras.layers.Dense(
            units, activation="tanh", name="hidden", dtype=self.dtype_policy
        )
        self.seed_generator = keras.random.SeedGenerator() if dropout else None

    def build(self, input_shape):
        if len(input_shape) < 3:
            raise ValueError(
                "`inputs` must have positions to pool: (batch, length, "
                "features), or more axes of positions. Received: "
                f"inputs.shape={tuple(input_shape)}"
            )
        self.hidden_dense.build(input_shape)
        self.query = self.add_weight(
            name="query", shape=(self.num_queries or 1, self.units)
        )

    def call(
        self,
        inputs,
        *,
        mask=None,
        return_attention_scores=False,
        training=None,
    ):
        batch, *axes, features = ops.shape(inputs)
        length = math.prod(axes)
        if mask is not None:
            mask = masks.as_boolean(mask)
            masks.check_padding(mask, inputs.shape[:-1], "mask")
            inputs = masks.zero_padding(inputs, mask, "mask")
            mask = ops.broadcast_to(mask, (batch, *axes))
            mask = ops.reshape(mask, (batch, 1, length))
        positions = ops.reshape(inputs, (batch, length, features))
        hidden = self.hidden_dense(positions)  # (batch, length, units)
        scores = ops.einsum("qu,bku->bqk", self.query, hidden)
        dropout = self.dropout if training else 0.0
        output, weights = one_head_average(
            scores,  # (batch, num_queries, length)
            positions,
            mask=mask,
            dropout=dropout,
            seed=self.seed_generator.next() if dropout else None,
        )
        weights = ops.reshape(weights, (batch, self.num_queries or 1, *axes))
        if self.num_queries is None:
            output, weights = output[:, 0], weights[:, 0]
        return (output, weights) if return_attention_scores else output

    def compute_mask(self, inputs, previous_mask):
        return None  # what was padded has been pooled away

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "num_queries": self.num_queries,
            "dropout": self.dropout,
        }
