"""Co-attention: two sequences, each attending to the other."""

import keras
from keras import ops

from keras_attn.attention import checks
from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.ops import masks


@keras.saving.register_keras_serializable(package="keras_attn")
class CoAttention(Layer):
    """Multi-head attention between two streams, such as text and image.

        head(X, Y, i) = softmax(X W_q(i) · Y W_k(i) / √key_dim) Y W_v(i)
        attend(X, Y)  = [head(X, Y, 1), …, head(X, Y, num_heads)] W_o
        first output  = attend(first, second)
        second output = attend(second, first)

    with weights of their own for each direction. The streams may differ in
    length and in width, which each keeps; residuals and norms are
    `CoAttentionBlock`'s.

    Args:
        num_heads: Number of heads, in both directions.
        key_dim: Depth of a head.
        use_bias: Whether the linear maps have biases.
        dropout: Fraction of the weights dropped while training.
        implementation: "auto", "dense", "tiled" or "fused", as for
            `ops.attention`.
        kernel_initializer: Of all linear maps.

    Call arguments:
        first: (batch, first, first_features).
        second: (batch, second, second_features).
        first_mask, second_mask: (batch, first) and (batch, second); padding
            is not seen, and sees nothing. Filled in by Keras from upstream.
        attention_mask: Which pairs see each other, (batch, first, second)
            booleans; an axis may be 1.
        return_attention_scores: Whether to return the weights as well.
        training: Whether weights are dropped.

    Returns:
        (batch, first, first_features) and (batch, second, second_features);
        if asked for, then the weights by which the first stream saw the
        second, (batch, heads, first, second), and those of the other
        direction, (batch, heads, second, first). A position that may see
        nothing, or is padding, gets the output's bias.

    Reference:
        Lu et al. 2019, section 2.2. https://arxiv.org/abs/1908.02265
    """

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        *,
        use_bias: bool = True,
        dropout: float = 0.0,
        implementation: str = "auto",
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.num_heads = argument_checks.integer(
            num_heads, "num_heads", at_least=1
        )
        self.key_dim = argument_checks.integer(key_dim, "key_dim", at_least=1)
        self.use_bias = use_bias
        self.dropout = dropout
        self.implementation = implementation
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.supports_masking = True
        self.first_attention = self._direction("first_attention")
        self.second_attention = self._direction("second_attention")

    def build(self, first_shape, second_shape):
        checks.sequences(first=first_shape, second=second_shape)
        self.first_attention.build(first_shape, second_shape)
        self.second_attention.build(second_shape, first_shape)

    def call(
        self,
        first,
        second,
        *,
        first_mask=None,
        second_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
    ):
        first_mask = _padding(first_mask, first, "first_mask")
        second_mask = _padding(second_mask, second, "second_mask")
        attention_mask = masks.as_boolean(attention_mask, "attention_mask")
        options = {
            "return_attention_scores": return_attention_scores,
            "training": training,
        }
        # Keras hands on the mask of a layer's first argument, so the query's:
        # each output carries that of its own stream.
        first_output = self.first_attention(
            first,
            second,
            query_mask=first_mask,
            value_mask=second_mask,
            attention_mask=attention_mask,
            **options,
        )
        second_output = self.second_attention(
            second,
            first,
            query_mask=second_mask,
            value_mask=first_mask,
            attention_mask=_the_other_way(attention_mask),
            **options,
        )
        if not return_attention_scores:
            return first_output, second_output
        first_output, first_weights = first_output
        second_output, second_weights = second_output
        return first_output, second_output, first_weights, second_weights

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "use_bias": self.use_bias,
            "dropout": self.dropout,
            "implementation": self.implementation,
            "kernel_initializer": serialize(self.kernel_initializer),
        }

    def _direction(self, name):
        return MultiHeadAttention(
            self.num_heads,
            self.key_dim,
            dropout=self.dropout,
            use_bias=self.use_bias,
            implementation=self.implementation,
            kernel_initializer=self.kernel_initializer.clone(),
            name=name,
            dtype=self.dtype_policy,
        )


def _padding(mask, stream, name):
    """The mask of a stream, which `MultiHeadAttention` knows by two names."""
    if mask is not None:
        mask = masks.as_boolean(mask, name)
        masks.check_padding(mask, stream.shape[:2], name)
    return mask


def _the_other_way(attention_mask):
    """What (…, first, second) pairs say of (…, second, first)."""
    if attention_mask is None:
        return None
    return ops.swapaxes(attention_mask, -2, -1)
