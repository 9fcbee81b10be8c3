"""Locality self-attention, for vision with few images."""

import keras

from keras_attn.attention import checks
from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.modifiers.locality import Locality


@keras.saving.register_keras_serializable(package="keras_attn")
class LocalitySelfAttention(Layer):
    """Multi-head self-attention (LSA) in which no position sees itself.

        score(q, k) = Q W_q(i) · K W_k(i) / temperature(i)    k ≠ q, else hidden
        output      = [softmax(score(i)) V W_v(i), …] W_o

    with a learned temperature for each head i, √key_dim at first. A block
    has it with `EncoderBlock(attention={"modifiers": ["locality"]})`.

    Args:
        num_heads: Number of heads.
        key_dim: Depth of a head; features / num_heads if not given.
        use_bias: Whether query, key and value have biases; the output has.
        dropout: Fraction of the weights dropped while training.
        implementation: "auto", "dense", "tiled" or "fused", as for
            `ops.attention`.
        kernel_initializer: Of all linear maps.

    Call arguments:
        inputs: (batch, length, features).
        mask: (batch, length); padding is not seen, and sees nothing.
        attention_mask: As for `MultiHeadAttention`.
        return_attention_scores: Whether to return the weights as well.
        training: Whether weights are dropped.

    Returns:
        (batch, length, features), then (batch, heads, length, length) weights
        if asked for. A position that may see nothing, such as one that is
        alone, gets the output's bias.

    Reference:
        Lee et al. 2021, section 3.3. https://arxiv.org/abs/2112.13492
    """

    def __init__(
        self,
        num_heads: int,
        key_dim: int | None = None,
        *,
        use_bias: bool = False,
        dropout: float = 0.0,
        implementation: str = "auto",
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        num_heads = argument_checks.integer(num_heads, "num_heads", at_least=1)
        if key_dim is not None:
            key_dim = argument_checks.integer(key_dim, "key_dim", at_least=1)
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.use_bias = use_bias
        self.dropout = dropout
        self.implementation = implementation
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.supports_masking = True

    def build(self, input_shape):
        checks.sequences(inputs=input_shape)
        features = input_shape[-1]
        if self.key_dim is None and features % self.num_heads:
            raise ValueError(
                "`num_heads` must divide the features. Received: num_heads="
                f"{self.num_heads}, features={features}. Choose another, or "
                "give `key_dim`."
            )
        self.attention = MultiHeadAttention(
            self.num_heads,
            self.key_dim or features // self.num_heads,
            dropout=self.dropout,
            use_bias=self.use_bias,
            use_output_bias=True,
            kernel_initializer=self.kernel_initializer.clone(),
            modifiers=[Locality(dtype=self.dtype_policy)],
            implementation=self.implementation,
            name="attention",
            dtype=self.dtype_policy,
        )
        self.attention.build(input_shape, input_shape)

    def call(
        self,
        inputs,
        *,
        mask=None,
        inputs_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
    ):
        # Keras fills in `mask` if a layer is called with one tensor only, and
        # `inputs_mask` if there is an `attention_mask` as well.
        mask = inputs_mask if mask is None else mask
        return self.attention(
            inputs,
            inputs,
            query_mask=mask,
            value_mask=mask,
            attention_mask=attention_mask,
            return_attention_scores=return_attention_scores,
            training=training,
        )

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
